/** All checks: which there are, in which order their findings are shown, and how long each may take. */
import type { Config } from '../config/config.ts';
import { becomeOwner } from '../core/folder-owner.ts';
import { checkCertificate, checkConfigFile, checkSpace, checkStateFile } from './files.ts';
import { type Finding, warning, within } from './finding.ts';
import { checkGateway, openFilesOfGateway } from './gateway.ts';
import { checkClock, checkNode, checkOpenFiles, invalidConfig } from './machine.ts';
import { checkProviders } from './providers.ts';
import { checkState } from './state.ts';

export type { Finding } from './finding.ts';

/** Longer than what each check bounds by itself, so that it can name what took long. */
const CHECK_MS = 30_000;

/** Runs all checks at once. The order of the findings is fixed. Throws a UserError if root cannot work in the folder of the state. */
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
  const findings = await Promise.all(checks.map(([name, check]) => within(name, CHECK_MS, check)));
  return findings.flat();
}

/** What can be said where the config cannot be used. `lines`: what is wrong with it. */
export function examineWithoutConfig(lines: readonly string[]): readonly Finding[] {
  return [...invalidConfig(lines), checkNode()];
}
