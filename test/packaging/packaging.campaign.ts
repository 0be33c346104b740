/**
 * The package with several versions of Node, which npm fetches; a checkout without the packages for development; the
 * executable on PostgreSQL, and measured beside the program in the checkout, in pairs. Ends at the first fault.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildExecutable } from '../../scripts/executable.ts';
import { campaign, chosen, showRow } from '../support/campaign.ts';
import { CONFIG, PROGRAM } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ownBytesOf, residentBytesOf } from '../support/process.ts';
import type { RunScope } from '../support/run-scope.ts';
import { median } from '../support/statistics.ts';
import { Alone, emptyFolder } from './alone.ts';
import { crash, firstSteps, takeOver } from './first-steps.ts';
import { copyCheckout, pack } from './pack.ts';

const NEW_ENOUGH = ['22.19.0', '22', '24', '26'];
const TOO_OLD = ['18', '20'];
const PAIRS = 9;
/** After its start, so that what it needed only for that can be freed. */
const REST_MS = 1_000;

function npm(...words: string[]): void {
  execFileSync('npm', [...words, '--no-fund', '--no-audit'], { stdio: ['ignore', 'ignore', 'inherit'] });
}

async function tryPackage(scope: RunScope): Promise<void> {
  const tarball = pack(emptyFolder(scope));
  const prefix = emptyFolder(scope);
  npm('install', '--global', '--prefix', prefix, tarball);
  for (const version of [...NEW_ENOUGH, ...TOO_OLD]) {
    const folder = emptyFolder(scope);
    npm('install', '--prefix', folder, `node@${version}`);
    const node = join(folder, 'node_modules/.bin/node');
    const program = new Alone(scope, folder, [node, join(prefix, 'bin/inf-gw')]);
    if (TOO_OLD.includes(version)) {
      const { status, stderr } = await program.run('--help');
      assert.equal(status, 1);
      assert.match(
        stderr,
        /^inf-gw needs Node 22\.19 or newer; this is v[\d.]+\. Install Node 22\.19 or newer, [^\n]*\n$/,
      );
    } else {
      await crash(program, await takeOver(program, await firstSteps(program, 'package')));
    }
    console.log(`the package with Node ${version}: as it should be`);
  }
}

/** As a server that builds nothing installs it: with what runs, and no more. */
async function tryCheckout(scope: RunScope): Promise<void> {
  const folder = emptyFolder(scope);
  copyCheckout(folder);
  execFileSync('npm', ['ci', '--omit=dev'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const program = new Alone(scope, folder, [process.execPath, join(folder, 'bin/inf-gw.js')]);
  await crash(program, await takeOver(program, await firstSteps(program, 'checkout')));
  console.log('a checkout after npm ci --omit=dev: as it should be');
}

async function tryPostgres(scope: RunScope, file: string): Promise<void> {
  const server = await PostgresServer.start();
  scope.after(() => server.stop());
  const config = CONFIG.replace('./state.db', await server.createDatabase());
  const { serving } = await firstSteps(Alone.of(scope, file, config), 'executable');
  assert.equal(await serving.stop(), 0);
  console.log('the executable on PostgreSQL: as it should be');
}

interface Figures {
  readonly startMs: number;
  readonly commandMs: number;
  readonly residentMb: number;
  readonly ownMb: number;
}

async function measureOnce(program: Alone): Promise<Figures> {
  const beganMs = performance.now();
  const serving = await program.serve();
  assert.equal((await fetch(`${serving.url}/readyz`)).status, 200);
  const startMs = performance.now() - beganMs;
  await pause(REST_MS);
  const [residentMb, ownMb] = [residentBytesOf, ownBytesOf].map((read) => read(serving.pid) / 1e6) as [number, number];
  await serving.stop();
  const commandBeganMs = performance.now();
  await program.run('keys', 'list');
  return { startMs, commandMs: performance.now() - commandBeganMs, residentMb, ownMb };
}

async function measure(scope: RunScope, file: string): Promise<void> {
  const programs = {
    executable: Alone.of(scope, file),
    checkout: new Alone(scope, emptyFolder(scope), [process.execPath, PROGRAM]),
  };
  const rounds: Record<keyof typeof programs, Figures>[] = [];
  // The first pair unpacks, and reads files that later ones find in memory.
  for (let i = 0; i <= PAIRS; i++) {
    rounds.push({ executable: await measureOnce(programs.executable), checkout: await measureOnce(programs.checkout) });
  }
  console.log(`the executable: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  showRow('median', ['first 200, ms', 'keys list, ms', 'memory, MB', 'its own, MB']);
  for (const name of ['executable', 'checkout'] as const) {
    const middle = (read: (figures: Figures) => number) => median(rounds.slice(1).map((round) => read(round[name])));
    showRow(name, [
      middle(({ startMs }) => startMs),
      middle(({ commandMs }) => commandMs),
      middle(({ residentMb }) => residentMb),
      middle(({ ownMb }) => ownMb),
    ]);
  }
}

const PARTS: Readonly<Record<string, (scope: RunScope, file: string) => Promise<void>>> = {
  package: tryPackage,
  checkout: tryCheckout,
  postgres: tryPostgres,
  figures: measure,
};

export default campaign({
  proves: 'the package runs with every version of Node that it names, and the executable without one',
  options: { only: '' },
  async run(course, { only }) {
    const parts = chosen(Object.entries(PARTS), only, ([name]) => name);
    const file = await buildExecutable(emptyFolder(course));
    for (const [, part] of parts) await part(course, file);
    return parts.map(([name]) => name).join(', ');
  },
});
