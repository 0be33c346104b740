/** What the machine gives: the version of Node, open files, the time. */
import { count } from '../operator/format.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** What a gateway has open besides connections: files, threads, sockets. */
const OTHER_FILES = 256;
/** The clock of a host that answers may be off as well, but not by this much. */
const MAX_OFF_MS = 60_000;

export function checkNode(): Finding {
  return ok('node', `Node ${process.version}, ${process.platform} ${process.arch}`);
}

/** Each connection of a client can need one to a provider. */
export function checkOpenFiles(maxConnections: number): Finding {
  const name = 'open files';
  const limit = openFilesLimit();
  const needed = 2 * maxConnections + OTHER_FILES;
  if (limit === undefined || limit >= needed)
    return ok(name, `${limit === undefined ? 'no limit' : count(limit)} at a time`);
  return warning(
    name,
    `${count(limit)} at a time, but max_connections: ${maxConnections} can need ${count(needed)}`,
    'raise the limit (ulimit -n, or LimitNOFILE of the service), or lower max_connections in the config',
  );
}

/** Undefined if there is none, or the system does not tell. Node has raised the soft limit as far as it can. */
function openFilesLimit(): number | undefined {
  // Otherwise the report looks up the names of all hosts that are connected.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isNaN(soft) ? undefined : soft;
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
