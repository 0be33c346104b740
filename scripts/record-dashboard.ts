/**
 * Records what the dashboard shows of a running gateway, for the README's picture:
 * `npm run record:dashboard -- CONFIG`. Keys are recorded by name and by the end that is shown of them.
 */
import { writeFileSync } from 'node:fs';
import { loadConfig } from '../src/config/load.ts';
import { readSnapshot } from '../src/control/client.ts';
import { socketPathOf } from '../src/control/protocol.ts';
import { MOST_FIRST_BYTE_STEPS } from '../src/observe/first-bytes.ts';
import { Store } from '../src/tui/store.ts';
import { encoded, RECORDING } from './recording.ts';

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('which config? npm run record:dashboard -- CONFIG');
const config = loadConfig({ path, environment: process.env, directory: process.cwd() });
const store = await Store.open(config, true);
const stored = await store.read(Date.now());
const query = { maxLive: 0, maxEnded: 0, firstByteSteps: MOST_FIRST_BYTE_STEPS };
const snapshot = await readSnapshot(socketPathOf(config), query);
await store.close();
if (snapshot === undefined) throw new Error(`no gateway runs with ${path}`);
// Where things are on the machine of whoever recorded it is nobody's business.
const [configPath, statePath] = ['/etc/inf-gw/config.yaml', '/var/lib/inf-gw/inf-gw.db'];
const shown = { ...snapshot, config_path: configPath, state_path: statePath };
writeFileSync(RECORDING, encoded({ snapshot: shown, stored: { ...stored, configPath, statePath } }));
