/** `version`: the installed version, for bug reports and scripts. */
import { existsSync } from 'node:fs';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { VERSION } from '../core/program.ts';
import { printFields, printJson } from './output.ts';
import { globalOptions } from './state.ts';

type Installation = 'executable' | 'package' | 'checkout';

const SHOWN: Readonly<Record<Installation, string>> = {
  executable: 'the executable',
  package: 'the npm package',
  checkout: 'a checkout',
};

export function registerVersion(program: Command): void {
  program
    .command('version')
    .description('show the versions of inf-gw and Node, and how inf-gw is installed')
    .addHelpText('after', '\nExamples:\n  inf-gw version\n  inf-gw version --json')
    .action((_: unknown, command: Command) => version(command));
}

function version(command: Command): void {
  const { platform, arch, versions } = process;
  const { installation, path } = installed();
  if (globalOptions(command).json) {
    return printJson({ version: VERSION, node: versions.node, platform, arch, installation, path });
  }
  printFields([
    ['inf-gw', VERSION],
    ['node', versions.node],
    ['platform', `${platform}-${arch}`],
    ['installed as', SHOWN[installation]],
    ['path', path],
  ]);
}

/** `path`: the executable, or the folder of the package or checkout. */
function installed(): { installation: Installation; path: string } {
  if (isSea()) return { installation: 'executable', path: process.execPath };
  // This code is two folders below the root, in src/ and in dist/. A package has no sources.
  const path = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
  return { installation: existsSync(`${path}/src/cli`) ? 'checkout' : 'package', path };
}
