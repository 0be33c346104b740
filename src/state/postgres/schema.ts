/** The numbered steps from an empty database to today's tables. A step that was released is never changed. */
import { RIGHTS } from './rights.ts';
import { DECIDE } from './schema/decide.ts';
import { NODES } from './schema/nodes.ts';
import { SETTLE } from './schema/settle.ts';
import { TABLES } from './schema/tables.ts';
import { UPKEEP } from './schema/upkeep.ts';

/** Step n brings a database from version n - 1 to n; `inf_gw.migrations` holds the numbers. */
export const MIGRATIONS: readonly string[] = [
  [TABLES, SETTLE, NODES, UPKEEP, DECIDE, RIGHTS, 'SELECT inf_gw.make_partitions();'].join('\n'),
];
