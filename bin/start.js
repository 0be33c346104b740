// `npm start`: makes a config from the example if there is none, and serves.
import { copyFileSync, existsSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const config = new URL('config.yaml', root);
if (!existsSync(config)) {
  copyFileSync(new URL('config.example.yaml', root), config);
  console.error('copied config.example.yaml to config.yaml');
}
process.argv.splice(2, 0, 'serve');
await import('./inf-gw.js');
