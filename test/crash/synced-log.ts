/**
 * Loaded into `serve` before the program itself: makes the disk slow, and keeps beside the state
 * file what of its log is on the disk, which is what a power cut would leave.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** The part of the log that was synced, in the working directory of `serve`. */
export const SYNCED_LOG = 'synced-log';
/** How long a sync takes at least. An answer that does not wait for it is seen before it. */
const SYNC_MS = 5;

const { fdatasync } = fs;
fs.fdatasync = ((descriptor: number, callback: fs.NoParamCallback) => {
  // What is written while a sync runs may reach the disk with it, or not.
  const synced = fs.readFileSync(`/proc/self/fd/${descriptor}`);
  fdatasync(descriptor, (error) =>
    setTimeout(() => {
      fs.writeFileSync(`${SYNCED_LOG}-new`, synced);
      fs.renameSync(`${SYNCED_LOG}-new`, SYNCED_LOG);
      callback(error);
    }, SYNC_MS),
  );
}) as typeof fdatasync;
syncBuiltinESMExports();
