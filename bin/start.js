// `npm start`: copies the example config if there is no config, then serves.
import { copyFileSync, existsSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const config = new URL('config.yaml', root);
if (!existsSync(config)) {
  copyFileSync(new URL('config.example.yaml', root), config);
  console.error('copied config.example.yaml to config.yaml');
}
process.argv.splice(2, 0, 'serve');
await import('./inf-gw.js');
