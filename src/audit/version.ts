/** Identifies a state file by its header. */
import { openToLook, type Sqlite } from './open.ts';
import { KNOWN_VERSION } from './sqlite/auditor.ts';

/** "infg" in ASCII. */
const APPLICATION_ID = 0x69_6e_66_67;

export type FoundVersion =
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'empty' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'unreadable'; readonly message: string };

/** The schema version that this program writes. */
export const newestVersion = Number(KNOWN_VERSION);

/** Reads the application id and schema version of a state file without changing it. */
export function readVersion(path: string): FoundVersion {
  let database: Sqlite | undefined;
  try {
    database = openToLook(path);
    const numberOf = (sql: string) => Number(Object.values(database?.prepare(sql).get() ?? {})[0]);
    if (numberOf('SELECT count(*) FROM sqlite_schema') === 0) return { kind: 'empty' };
    if (numberOf('PRAGMA application_id') !== APPLICATION_ID) return { kind: 'foreign' };
    return { kind: 'version', version: numberOf('PRAGMA user_version') };
  } catch (error) {
    return { kind: 'unreadable', message: (error as Error).message };
  } finally {
    database?.close();
  }
}
