/**
 * What can happen to the disk and the state file of a running gateway, and how each is repaired.
 */
import { closeSync, copyFileSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Site } from './site.ts';

export interface Fault {
  readonly what: string;
  /** The message in the log: what is wrong, and what to do. */
  readonly message: RegExp;
  /** Whether it needs a disk that holds only the state file's directory. */
  readonly hasOwnDisk?: true;
  /** Makes it happen, and returns what repairs it. */
  harm(site: Site): () => void;
}

/** Changes the file from another process, which is this one. */
export function elsewhere<T>({ statePath }: Site, work: (database: Database.Database) => T): T {
  const database = new Database(statePath, { timeout: 5_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Another process that takes the write lock and keeps it until it is asked to release it. */
export function lock({ statePath }: Site): () => void {
  const database = new Database(statePath, { timeout: 5_000 });
  database.exec('BEGIN IMMEDIATE');
  return () => database.close();
}

function ordered(order: 'full' | 'read-only') {
  return (site: Site) => {
    site.order(order);
    return () => site.order('none');
  };
}

/** Moves a part of the file away. */
function move(ending: string) {
  return ({ statePath }: Site) => {
    const path = statePath + ending;
    renameSync(path, `${path}-elsewhere`);
    return () => renameSync(`${path}-elsewhere`, path);
  };
}

function moveFolder({ folder }: Site): () => void {
  renameSync(folder, `${folder}-elsewhere`);
  return () => renameSync(`${folder}-elsewhere`, folder);
}

function replace({ statePath }: Site): () => void {
  renameSync(statePath, `${statePath}-elsewhere`);
  copyFileSync(`${statePath}-elsewhere`, statePath);
  return () => renameSync(`${statePath}-elsewhere`, statePath);
}

/** As a newer program does it. */
function upgrade(site: Site): () => void {
  const { user_version: version } = elsewhere(site, (database) => database.prepare('PRAGMA user_version').get()) as {
    user_version: number;
  };
  const set = (number: number) => elsewhere(site, (database) => database.exec(`PRAGMA user_version = ${number}`));
  set(version + 1);
  return () => set(version);
}

/** Overwrites the first page of the holds. */
function spoil(site: Site): () => void {
  const { page, size } = elsewhere(site, (database) => {
    // All of the log into the file: where a page is in the log, it is not read from the file.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return database
      .prepare(
        "SELECT rootpage AS page, page_size AS size FROM sqlite_schema, pragma_page_size WHERE name = 'hold_batches'",
      )
      .get() as { page: number; size: number };
  });
  const file = openSync(site.statePath, 'r+');
  const [good, at] = [Buffer.alloc(size), (page - 1) * size];
  readSync(file, good, 0, size, at);
  const put = (bytes: Buffer) => {
    writeSync(file, bytes, 0, size, at);
    dropCaches(site);
  };
  put(Buffer.alloc(size, 0xa5));
  return () => {
    put(good);
    closeSync(file);
  };
}

/** After the commit of another process, a connection reads its pages again. */
function dropCaches(site: Site): void {
  elsewhere(site, (database) => {
    const { application_id: id } = database.prepare('PRAGMA application_id').get() as { application_id: number };
    database.exec(`PRAGMA application_id = ${id}`);
  });
}

export const LOCKED: Fault = {
  what: 'locked by another program',
  message: /another program keeps it locked; end/,
  harm: lock,
};

/** Those that need no rights and no disk of their own. */
export const FAULTS: readonly Fault[] = [
  LOCKED,
  { what: 'disk full', message: /the disk is full; free some space/, harm: ordered('full') },
  { what: 'read-only', message: /it cannot be written; check the permissions/, harm: ordered('read-only') },
  { what: 'moved away', message: /state\.db is gone: .*move it back.*restart/, harm: move('') },
  { what: 'log moved away', message: /state\.db-wal is gone: .*move it back.*restart/, harm: move('-wal') },
  { what: 'index of the log moved away', message: /state\.db-shm is gone: .*otherwise restart/, harm: move('-shm') },
  { what: 'lock moved away', message: /state\.db-lock is gone: .*otherwise restart/, harm: move('-lock') },
  { what: 'folder moved away', message: /state\.db is gone: .*move it back.*restart/, harm: moveFolder },
  { what: 'replaced by a copy', message: /another file has replaced .*put the original back/, harm: replace },
  { what: 'upgraded by a newer program', message: /a newer inf-gw .*restart/, harm: upgrade },
  { what: 'a page overwritten', message: /it is damaged; restore it from a backup/, harm: spoil },
];
