/** How `serve` starts on a file or a folder that is not as it should be: it works, or says in one line what to do. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { CONCURRENCY } from '../support/cli.ts';
import { elsewhere, FAULTS } from './faults.ts';
import { Site } from './site.ts';

interface Case {
  readonly what: string;
  /** Harms the state file, which is there with a key in it. May give what mends it. */
  readonly harm: (site: Site) => unknown;
  /** The one line of its error. */
  readonly told: RegExp;
  /** Whether the file must be left as it is, byte for byte. */
  readonly isLeftAlone?: true;
}

const faultNamed = (name: string) => {
  const fault = FAULTS.find(({ what }) => what === name);
  assert.ok(fault);
  return fault;
};

/** Writes over these bytes of the file. */
function overwrite({ statePath }: Site, from: number, to: number): void {
  const bytes = readFileSync(statePath);
  writeFileSync(statePath, bytes.fill(0xa5, from, to));
}

const REFUSED: readonly Case[] = [
  {
    what: 'the disk is full',
    harm: (site) => faultNamed('disk full').harm(site),
    told: /state\.db: the disk is full; free some space and try again/,
  },
  {
    what: 'the file is read-only',
    harm: (site) => faultNamed('read-only').harm(site),
    told: /state\.db: it cannot be written; check the permissions of the file and its directory/,
  },
  {
    what: 'its folder takes no files',
    harm: (site) => site.place.write('config.yaml', 'state: /proc/self/state.db\nproviders: {}\n'),
    told: /cannot create the state file \/proc\/self\/state\.db(-lock)? .*set `state:` in the config to another path/,
  },
  {
    what: 'a file stands where its folder should be',
    harm: (site) => site.place.write('config.yaml', 'state: ./orders/state.db\nproviders: {}\n'),
    told: /cannot create the state file .*orders\/state\.db(-lock)? .*set `state:` in the config to another path/,
  },
  {
    what: 'its head is damaged',
    harm: (site) => overwrite(site, 0, 100),
    told: /state\.db: it is not an inf-gw state file; set `state:` in the config to another file/,
    isLeftAlone: true,
  },
  {
    what: 'a page is damaged',
    harm: (site) => faultNamed('a page overwritten').harm(site),
    told: /state\.db: it is damaged; restore it from a backup/,
  },
  {
    what: 'its end is cut off',
    harm: ({ statePath }) => truncateSync(statePath, 8_192),
    told: /state\.db: it is damaged; restore it from a backup/,
  },
  {
    what: 'it was written by a newer program',
    harm: (site) => faultNamed('upgraded by a newer program').harm(site),
    told: /state\.db was written by a newer inf-gw .*update inf-gw/,
  },
  {
    what: 'it is the database of another program',
    harm: (site) => elsewhere(site, (database) => database.exec('PRAGMA application_id = 4711')),
    told: /state\.db belongs to another program; set `state:` in the config to another file/,
  },
  {
    what: 'a directory stands in its place',
    harm: ({ statePath }) => {
      rmSync(statePath);
      mkdirSync(statePath);
    },
    told: /state\.db is not a file; set `state:` in the config to another path/,
  },
  {
    what: 'a pipe stands in its place',
    harm: ({ statePath }) => {
      rmSync(statePath);
      execFileSync('mkfifo', [statePath]);
    },
    told: /state\.db is not a file; set `state:` in the config to another path/,
  },
];

/** The file and its log as a crash leaves them: tables in the file, key and credit only in the log. */
async function crashed(site: Site): Promise<void> {
  const { statePath } = site;
  await site.place.runAll([['keys', 'list']]);
  // A second connection keeps the last one of the command from emptying the log.
  const reader = new DatabaseSync(statePath);
  reader.prepare('SELECT count(*) FROM keys').get();
  await site.makeState();
  const parts = [statePath, `${statePath}-wal`];
  for (const part of parts) copyFileSync(part, `${part}-copy`);
  reader.close();
  for (const part of parts) copyFileSync(`${part}-copy`, part);
  rmSync(`${statePath}-shm`, { force: true });
}

const SERVED: readonly { what: string; arrange: (site: Site) => unknown; says: RegExp }[] = [
  {
    what: 'a file without any bytes is a new one',
    arrange: ({ statePath }) => writeFileSync(statePath, ''),
    says: /balance 0\.00 USD, 0 keys/,
  },
  {
    what: 'a folder that is gone is made again',
    arrange: ({ folder }) => rmSync(folder, { recursive: true }),
    says: /created the state file .*disk\/state\.db/,
  },
  {
    what: 'the log of a crash is taken over',
    arrange: crashed,
    says: /balance 1000\.00 USD, 1 key$/,
  },
  {
    what: 'without its log it has what was in the file proper',
    arrange: async (site) => {
      await crashed(site);
      rmSync(`${site.statePath}-wal`);
    },
    says: /balance 0\.00 USD, 0 keys/,
  },
  {
    what: 'a log that was cut counts up to its last whole commit',
    arrange: async (site) => {
      await crashed(site);
      truncateSync(`${site.statePath}-wal`, readFileSync(`${site.statePath}-wal`).length - 100);
    },
    says: /balance 0\.00 USD, 1 key$/,
  },
];

describe('at the start of `serve`', { concurrency: CONCURRENCY }, () => {
  for (const { what, harm, told, isLeftAlone } of REFUSED) {
    test(`${what}: it ends with status 1 and one line that says what to do`, async (t) => {
      const site = await Site.open(t);
      await site.prepare();
      const mend = harm(site);
      const before = isLeftAlone && readFileSync(site.statePath);
      const { status, errors } = await site.tryToStart();
      assert.equal(status, 1, errors.join('\n'));
      assert.equal(errors.length, 1, errors.join('\n'));
      assert.match(errors[0] ?? '', /^error: /);
      assert.match(errors[0] ?? '', told);
      if (before) assert.deepEqual(readFileSync(site.statePath), before);
      if (typeof mend !== 'function') return;
      mend();
      // Once that is done, it starts.
      const serving = await site.start();
      await serving.logged(/balance 1000\.00 USD, 1 key$/);
      assert.equal(await serving.stop(), 0);
    });
  }

  for (const { what, arrange, says } of SERVED) {
    test(what, async (t) => {
      const site = await Site.open(t);
      await arrange(site);
      const serving = await site.start();
      await serving.logged(says);
      assert.equal(await serving.stop(), 0);
    });
  }
});
