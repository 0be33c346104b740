/** What the machine gives: the version of Node, open files, the time. */
import type { Config } from '../config/config.ts';
import type { Snapshot } from '../control/protocol.ts';
import { filesNeeded, openFilesLimit, roomForConnections, tooFew } from '../core/open-files.ts';
import { count } from '../operator/format.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** The clock of a host that answers may be off as well, but not by this much. */
const MAX_OFF_MS = 60_000;

export function checkNode(): Finding {
  return ok('node', `Node ${process.version}, ${process.platform} ${process.arch}`);
}

/** `running`: the gateway that runs; undefined if none does, or it is of a version that does not tell. */
export function checkOpenFiles(
  { maxConnections, threads }: Pick<Config, 'maxConnections' | 'threads'>,
  running: Snapshot['open_files'] | undefined,
): Finding {
  const name = 'open files';
  const limit = running === undefined ? openFilesLimit() : (running.limit ?? undefined);
  const room = running?.room ?? roomForConnections(maxConnections, threads, limit);
  const who = running === undefined ? 'a gateway that is started like this' : 'the gateway';
  if (limit === undefined) return ok(name, 'no limit');
  if (room >= maxConnections)
    return ok(name, `${count(limit)} at a time${running === undefined ? '' : ', of the gateway'}`);
  return warning(
    name,
    `${who} ${tooFew(limit, room, maxConnections)} (${count(filesNeeded(maxConnections, threads))} would do)`,
    'raise the limit (ulimit -n, or LimitNOFILE of the service), or lower max_connections in the config',
  );
}

/** `aheadMs`: how far the clocks of several hosts are ahead of ours, in milliseconds. */
export function checkClock(aheadMs: readonly number[]): Finding {
  const name = 'clock';
  // If one of the hosts agrees with this machine, the others are wrong.
  const [least] = aheadMs.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  if (least === undefined) return ok(name, 'not checked: no provider has told the time');
  const seconds = Math.round(Math.abs(least) / 1000);
  if (Math.abs(least) <= MAX_OFF_MS) return ok(name, `agrees with the providers to ${Math.max(1, seconds)} s`);
  return warning(
    name,
    `${count(seconds)} s ${least > 0 ? 'behind' : 'ahead of'} the providers: days, months and limits are counted by it`,
    'let the system set the clock (timedatectl set-ntp true)',
  );
}

/** For the config: `lines` are what the loader reports. */
export function invalidConfig(lines: readonly string[]): Finding[] {
  return lines.map((line) =>
    failure('config', line, 'correct that in the config; config.example.yaml shows every field'),
  );
}
