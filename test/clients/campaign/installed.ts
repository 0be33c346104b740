/** The clients of the campaigns, as npm and pip install them. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Scope } from '../../support/run-scope.ts';
import type { Agent } from './agents.ts';

/** The clients that are installed in a folder. What is there is not installed again. */
export class Installed {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** `folder`: empty for one that ends with the scope. */
  static in(folder: string, scope: Scope): Installed {
    if (folder !== '') return new Installed(folder);
    const own = mkdtempSync(join(tmpdir(), 'inf-gw-clients-'));
    scope.after(() => rmSync(own, { recursive: true, force: true }));
    return new Installed(own);
  }

  /** A Python of its own for each package: their needs contradict each other. */
  python(name: string): string {
    const place = join(this.folder, `python-${name}`);
    const python = join(place, 'bin', 'python');
    if (!existsSync(python)) {
      execFileSync('python3', ['-m', 'venv', place]);
      execFileSync(python, ['-m', 'pip', 'install', '--quiet', name], { stdio: 'inherit' });
    }
    return python;
  }

  /** Returns the version of the agent. */
  agent({ from }: Agent): string {
    if ('pip' in from) return pythonVersion(this.python(from.pip), from.pip);
    const place = join(this.folder, 'node_modules', from.npm);
    if (!existsSync(place)) {
      const words = ['install', '--prefix', this.folder, '--no-audit', '--no-fund', from.npm];
      execFileSync('npm', words, { stdio: 'inherit' });
    }
    return packageVersion(place);
  }

  /** Agents run on the Node of the machine, as they do at their users', and not on the project's. */
  pathFor({ from }: Agent): string {
    const own = 'pip' in from ? [`python-${from.pip}`, 'bin'] : ['node_modules', '.bin'];
    const others = (process.env.PATH ?? '').split(delimiter).filter((each) => !each.includes('node_modules'));
    return [join(this.folder, ...own), ...others].join(delimiter);
  }
}

export function packageVersion(place: string): string {
  return (JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as { version: string }).version;
}

function pythonVersion(python: string, name: string): string {
  const code = `import importlib.metadata; print(importlib.metadata.version(${JSON.stringify(name)}))`;
  return execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim();
}
