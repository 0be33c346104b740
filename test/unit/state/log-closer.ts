/** A process that does nothing but end, while the log of a state file is copied: `log-closer.ts <state file>`. */
import { Checkpoints } from '../../../src/state/sqlite/checkpoints.ts';
import { openAsItIs } from '../../../src/state/sqlite/database.ts';

const database = openAsItIs(process.argv[2] as string);
const checkpoints = new Checkpoints(database);
checkpoints.keep();
await checkpoints.close();
database.close();
