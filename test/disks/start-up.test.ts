/**
 * `serve` with a state file or directory that is not as it should be: it works, or says in one line
 * what to do.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { openState } from '../../src/state/sqlite/open-state.ts';
import { CONCURRENCY } from '../support/cli.ts';
import { elsewhere, FAULTS } from './faults.ts';
import { Site } from './site.ts';

interface Case {
  readonly what: string;
  /** Damages the state file, which exists and has a key. May return what repairs it. */
  readonly harm: (site: Site) => unknown;
  /** The one line of the error. */
  readonly message: RegExp;
  /** Whether the file must stay as it is, byte for byte. */
  readonly isUntouched?: true;
  /** Whether the harm is an order to the process. */
  readonly isOrdered?: true;
}

const faultNamed = (name: string) => {
  const fault = FAULTS.find(({ what }) => what === name);
  assert.ok(fault);
  return fault;
};

/** Overwrites these bytes of the file. */
function overwrite({ statePath }: Site, from: number, to: number): void {
  const bytes = readFileSync(statePath);
  writeFileSync(statePath, bytes.fill(0xa5, from, to));
}

/** Another program may have the default port, so any other. */
const configAt = (state: string) => `listen: 127.0.0.1:0\nstate: ${state}\nproviders: {}\n`;

const REFUSED: readonly Case[] = [
  {
    what: 'the disk is full',
    harm: (site) => faultNamed('disk full').harm(site),
    message: /state\.db: the disk is full; free some space and try again/,
    isOrdered: true,
  },
  {
    what: 'the file is read-only',
    harm: (site) => faultNamed('read-only').harm(site),
    message: /state\.db: it cannot be written; check the permissions of the file and its directory/,
    isOrdered: true,
  },
  {
    what: 'no file can be created in its directory',
    harm: (site) => site.place.write('config.yaml', configAt('/proc/self/state.db')),
    message:
      /cannot create the state file \/proc\/self\/state\.db(-lock)? .*set `state:` in the config to another path/,
  },
  {
    what: 'its directory is a file',
    harm: (site) => site.place.write('config.yaml', configAt('./orders/state.db')),
    message: /cannot create the state file .*orders\/state\.db(-lock)? .*set `state:` in the config to another path/,
  },
  {
    what: 'its header is damaged',
    harm: (site) => overwrite(site, 0, 100),
    message: /state\.db: it is not an inf-gw state file; set `state:` in the config to another file/,
    isUntouched: true,
  },
  {
    what: 'a page is damaged',
    harm: (site) => faultNamed('a page overwritten').harm(site),
    message: /state\.db: it is damaged; restore it from a backup/,
  },
  {
    what: 'it is truncated',
    harm: ({ statePath }) => truncateSync(statePath, 8_192),
    message: /state\.db: it is damaged; restore it from a backup/,
  },
  {
    what: 'it was written by a newer program',
    harm: (site) => faultNamed('upgraded by a newer program').harm(site),
    message: /state\.db was written by a newer inf-gw .*update inf-gw/,
  },
  {
    what: 'it belongs to another program',
    harm: (site) => elsewhere(site, (database) => database.exec('PRAGMA application_id = 4711')),
    message: /state\.db belongs to another program; set `state:` in the config to another file/,
  },
  {
    what: 'it is a directory',
    harm: ({ statePath }) => {
      rmSync(statePath);
      mkdirSync(statePath);
    },
    message: /state\.db is not a file; set `state:` in the config to another path/,
  },
  {
    what: 'it is a named pipe',
    harm: ({ statePath }) => {
      rmSync(statePath);
      execFileSync('mkfifo', [statePath]);
    },
    message: /state\.db is not a file; set `state:` in the config to another path/,
  },
];

/**
 * The file and its log as a crash leaves them: tables in the file, key and credit only in the log.
 */
async function crashed(site: Site): Promise<void> {
  const { statePath } = site;
  await openState(statePath, 'full').close();
  // A second connection keeps the command from checkpointing the log when it closes.
  const reader = new Database(statePath);
  reader.prepare('SELECT count(*) FROM keys').get();
  await site.makeState();
  const parts = [statePath, `${statePath}-wal`];
  for (const part of parts) copyFileSync(part, `${part}-copy`);
  reader.close();
  for (const part of parts) copyFileSync(`${part}-copy`, part);
  rmSync(`${statePath}-shm`, { force: true });
}

const SERVED: readonly { what: string; arrange: (site: Site) => unknown; logged: RegExp }[] = [
  {
    what: 'an empty file is a new one',
    arrange: ({ statePath }) => writeFileSync(statePath, ''),
    logged: /balance 0\.00 USD, 0 keys/,
  },
  {
    what: 'a missing directory is created',
    arrange: ({ folder }) => rmSync(folder, { recursive: true }),
    logged: /created the state file .*disk\/state\.db/,
  },
  {
    what: 'the log that a crash left is used',
    arrange: crashed,
    logged: /balance 1000\.00 USD, 1 key$/,
  },
  {
    what: 'without its log it has what was checkpointed',
    arrange: async (site) => {
      await crashed(site);
      rmSync(`${site.statePath}-wal`);
    },
    logged: /balance 0\.00 USD, 0 keys/,
  },
  {
    what: 'a truncated log counts up to its last complete commit',
    arrange: async (site) => {
      await crashed(site);
      truncateSync(`${site.statePath}-wal`, readFileSync(`${site.statePath}-wal`).length - 100);
    },
    logged: /balance 0\.00 USD, 1 key$/,
  },
];

describe('at the start of `serve`', { concurrency: CONCURRENCY }, () => {
  for (const { what, harm, message, isUntouched, isOrdered } of REFUSED) {
    test(`${what}: it exits with 1 and one line that says what to do`, async (t) => {
      const site = await Site.open(t);
      await site.prepare();
      const repair = harm(site);
      const before = isUntouched && readFileSync(site.statePath);
      const { status, errors } = await (isOrdered ? site.tryToStart() : site.startInVain());
      assert.equal(status, 1, errors.join('\n'));
      assert.equal(errors.length, 1, errors.join('\n'));
      assert.match(errors[0] ?? '', /^error: /);
      assert.match(errors[0] ?? '', message);
      if (before) assert.deepEqual(readFileSync(site.statePath), before);
      if (typeof repair !== 'function') return;
      repair();
      // It starts once the problem is fixed.
      const serving = await site.start();
      await serving.logged(/balance 1000\.00 USD, 1 key$/);
      assert.equal(await serving.stop(), 0);
    });
  }

  for (const { what, arrange, logged } of SERVED) {
    test(what, async (t) => {
      const site = await Site.open(t);
      await arrange(site);
      const serving = await site.place.serveHere();
      await serving.logged(logged);
      assert.equal(await serving.stop(), 0);
    });
  }
});
