/** Runs all checks within their time limits, in a fixed order. */
import type { Config } from '../config/config.ts';
import type { Snapshot } from '../control/protocol.ts';
import { becomeOwner } from '../core/folder-owner.ts';
import { filesNeeded, openFilesLimit, roomForConnections, tooFew } from '../core/open-files.ts';
import { count } from '../operator/format.ts';
import { checkCertificate, checkConfigFile, checkSpace, checkStateFile } from './files.ts';
import { type Finding, failure, findingsWithin, ok, warning } from './finding.ts';
import { checkGateway, openFilesOfGateway } from './gateway.ts';
import { checkProviders } from './providers.ts';
import { checkState } from './state.ts';

export type { Finding } from './finding.ts';

/** Time limit per check. It exceeds the limits inside of checks, whose messages are more specific. */
const CHECK_MS = 30_000;

/**
 * Runs all checks concurrently. The order of findings is fixed. Throws a UserError if root cannot act as the owner of the state's
 * folder.
 */
export async function examine(config: Config, environment: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const { state, tls } = config;
  if (state.kind === 'file') becomeOwner(state.path);
  const asked = checkProviders(config.providers, environment);
  const one = async (finding: () => Finding) => [finding()];
  const checks: readonly (readonly [name: string, check: () => Promise<readonly Finding[]>])[] = [
    ['config file', () => one(() => checkConfigFile(config))],
    ['config', async () => config.warnings.map((line) => warning('config', line, 'correct that in the config'))],
    ...(tls === undefined ? [] : ([['tls', () => one(() => checkCertificate(tls))]] as const)),
    ['gateway', () => checkGateway(config)],
    ...(state.kind === 'file'
      ? ([
          ['state file', async () => checkStateFile(state.path)],
          ['disk', () => one(() => checkSpace(state.path))],
        ] as const)
      : []),
    ['state', () => checkState(config)],
    ['node', () => one(checkNode)],
    ['open files', async () => [checkOpenFiles(config, await openFilesOfGateway(config))]],
    ['clock', async () => [checkClock((await asked).aheadMs)]],
    ['providers', async () => (await asked).findings],
  ];
  const findings = await Promise.all(checks.map(([name, check]) => findingsWithin(name, CHECK_MS, check)));
  return findings.flat();
}

/** Findings for an invalid config. `lines`: the errors of the loader. */
export function examineWithoutConfig(lines: readonly string[]): readonly Finding[] {
  return [...invalidConfig(lines), checkNode()];
}

/** Tolerated clock difference. It allows for small errors of hosts' clocks. */
const MAX_OFF_MS = 60_000;

function checkNode(): Finding {
  return ok('node', `Node ${process.version}, ${process.platform} ${process.arch}`);
}

/** `running`: the running gateway's figures; undefined without a gateway, or with a version that does not report them. */
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

/** `aheadMs`: how far the clocks of hosts are ahead of the local clock, in milliseconds. */
export function checkClock(aheadMs: readonly number[]): Finding {
  const name = 'clock';
  // The smallest difference counts: a host that agrees with this machine proves the others wrong.
  const [least] = aheadMs.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  if (least === undefined) return ok(name, 'not checked: no provider has sent the time');
  const seconds = Math.round(Math.abs(least) / 1000);
  if (Math.abs(least) <= MAX_OFF_MS) return ok(name, `agrees with the providers to within ${Math.max(1, seconds)} s`);
  return warning(
    name,
    `${count(seconds)} s ${least > 0 ? 'behind' : 'ahead of'} the providers: days, months and limits are counted by it`,
    'let the system set the clock (timedatectl set-ntp true)',
  );
}

/** `lines`: the errors of the config loader. */
function invalidConfig(lines: readonly string[]): Finding[] {
  return lines.map((line) =>
    failure('config', line, 'correct that in the config; config.example.yaml shows every field'),
  );
}
