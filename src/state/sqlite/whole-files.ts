/** Database files as a whole: removed and synced together with what SQLite keeps beside them. */
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { COMPANIONS } from './private-files.ts';

/** Removes a database and its companions, as far as they exist. */
export function removeFiles(path: string): void {
  rmSync(path, { force: true });
  removeCompanions(path);
}

export function removeCompanions(path: string): void {
  for (const suffix of COMPANIONS) rmSync(path + suffix, { force: true });
}

/** Makes a file, or the names in a folder, safe from a power cut. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
