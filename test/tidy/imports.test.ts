/** Which part of the program may import which: downwards only, and each dependency through one door. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importsOf, projectFile, sourcesIn, tableRows } from '../support/sources.ts';

/** The rooms of `src/` from the top down, and the rooms below that each may import: the table in the docs is the rule. */
const ROOMS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  tableRows(projectFile('docs/ARCHITECTURE.md'), '| room |').map(([room = '', , imports = '']) => [
    unquoted(room),
    imports === '' ? [] : imports.split(' ').map(unquoted),
  ]),
);

function unquoted(cell: string): string {
  return cell.replaceAll('`', '');
}

/** Where each package may be imported: a file, or a folder and all within it. */
const DOORS: Readonly<Record<string, string | readonly string[]>> = {
  'better-sqlite3': ['src/state/sqlite/', 'src/audit/open.ts'],
  pg: 'src/state/postgres/',
  // The second is for the parser that it brings along.
  undici: ['src/upstream/', 'src/http/llhttp.ts'],
  '@smithy/signature-v4': 'src/upstream/aws.ts',
  '@smithy/eventstream-codec': 'src/upstream/aws.ts',
  '@aws-sdk/credential-provider-node': 'src/upstream/aws-credentials.ts',
  'google-auth-library': 'src/upstream/google.ts',
  yaml: 'src/config/',
  zod: 'src/config/',
  pino: 'src/observe/',
  'pino-pretty': 'src/observe/',
  commander: 'src/cli/',
  'string-width': 'src/operator/text.ts',
  ink: 'src/tui/',
  react: 'src/tui/',
  // To clients, to webhooks, on the control socket to the operator, to Prometheus and a collector, to who gives tokens, and to hosts that are only looked at.
  'node:http': [
    'src/http/',
    'src/control/',
    'src/metrics/',
    'src/tracing/',
    'src/doctor/',
    'src/upstream/bounded-requests.ts',
    'src/upstream/tunnel.ts',
    'src/core/http-call.ts',
    'src/core/node-http.ts',
  ],
  'gpt-tokenizer': 'src/tokens/thread.ts',
};

/** The folder of a store. What lies beside these folders knows none of them, except the file that opens them. */
const STORE = /^src\/state\/\w+\//;
const OPENS_STORES = 'src/state/open.ts';
/** Which files of the stores each room may import. Commands and dashboard open the state through `src/state/open.ts`. */
const STORE_DOORS: Readonly<Record<string, readonly string[]>> = {
  ledger: [
    'src/state/sqlite/ledger-store.ts',
    'src/state/postgres/ledger-store.ts',
    'src/state/postgres/batch.ts',
    'src/state/postgres/log.ts',
  ],
  // Locks between processes; cached answers, which are no part of the state.
  gateway: ['src/state/sqlite/lock.ts', 'src/state/sqlite/answer-file.ts'],
  cli: ['src/state/sqlite/answer-file.ts'],
};
/** Statements of SQL, in capitals as this program writes them. */
const SQL = /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|PRAGMA|BEGIN|COMMIT|ROLLBACK)\b/;

/** Rooms that compute and do nothing else: of Node itself they may import these modules alone. */
const PURE_ROOMS = ['wire', 'dialects', 'translate', 'providers', 'relay', 'catalog', 'proxy'];
/**
 * Of `node:crypto` only hashes are pure; a random number would fail the tests of what it is in. Of `node:zlib` only what waits
 * for its result.
 */
const PURE_MODULES = ['node:buffer', 'node:crypto', 'node:zlib'];

/** `src/state/sqlite/keys.ts` is in the room `state`. */
function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** The package that a module belongs to. */
function packageOf(target: string): string {
  if (target.startsWith('node:')) return target;
  // The name of some begins with that of who keeps them.
  return target.split('/', target.startsWith('@') ? 2 : 1).join('/');
}

const arrows = sourcesIn('src/**/*.ts').flatMap((source) =>
  importsOf(source).map((target) => ({ from: source.path, target })),
);
const inner = arrows.filter(({ target }) => target.startsWith('src/'));
const outer = arrows.filter(({ target }) => !target.startsWith('src/'));
const shown = (list: typeof arrows) => list.map(({ from, target }) => `${from} imports ${target}`);

/** Files that import each other in a loop, each loop once, as its files in order. */
function circlesIn(list: typeof arrows): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, target } of list) targets.set(from, [...(targets.get(from) ?? []), target]);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) circles.push([...trail.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return circles;
}

test('a circle of imports is found', () => {
  const list = ['ab', 'bc', 'cb', 'cd'].map(([from = '', target = '']) => ({ from, target }));
  assert.deepEqual(circlesIn(list), ['b -> c -> b']);
});

describe('the program imports', () => {
  test('downwards only, from room to room', () => {
    const wrong = inner.filter(({ from, target }) => {
      const [room, other] = [roomOf(from), roomOf(target)];
      return room !== other && !(ROOMS[room] ?? []).includes(other);
    });
    assert.deepEqual(shown(wrong), []);
  });

  test('from rooms that all have their place, and no loose file', () => {
    const rooms = new Set(sourcesIn('src/**/*.ts').map(({ path }) => roomOf(path)));
    assert.deepEqual([...rooms].toSorted(), Object.keys(ROOMS).toSorted());
    const order = Object.keys(ROOMS);
    for (const [room, below] of Object.entries(ROOMS)) {
      for (const other of below) assert.ok(order.indexOf(other) > order.indexOf(room), `${other} is above ${room}`);
    }
  });

  test('in no circle, inside a room either', () => {
    assert.deepEqual(circlesIn(inner), []);
  });

  test('each package through its one door', () => {
    const wrong = outer.filter(({ from, target }) => {
      const doors = [DOORS[packageOf(target)] ?? []].flat();
      return doors.length === 0 ? !target.startsWith('node:') : !doors.some((door) => from.startsWith(door));
    });
    assert.deepEqual(shown(wrong), []);
  });

  test('each store through few files, and never from another store', () => {
    const wrong = inner.filter(({ from, target }) => {
      const store = STORE.exec(target)?.[0];
      if (store === undefined || from.startsWith(store) || from === OPENS_STORES) return false;
      return !(STORE_DOORS[roomOf(from)] ?? []).includes(target);
    });
    assert.deepEqual(shown(wrong), []);
  });

  test('every package that it depends on', () => {
    const { dependencies, devDependencies } = JSON.parse(projectFile('package.json')) as Record<string, object>;
    const used = [...new Set(outer.map(({ target }) => packageOf(target)).filter((name) => !name.startsWith('node:')))];
    const missing = Object.keys(dependencies ?? {}).filter((name) => !used.includes(name));
    assert.deepEqual(missing, []);
    // The others are in the bundle, also in that of the package.
    const bundled = used.filter((name) => !Object.hasOwn(dependencies ?? {}, name));
    assert.deepEqual(
      bundled.filter((name) => !Object.hasOwn(devDependencies ?? {}, name)),
      [],
    );
  });

  test('no means of input and output where it is to be pure', () => {
    const wrong = outer.filter(
      ({ from, target }) =>
        PURE_ROOMS.includes(roomOf(from)) && target.startsWith('node:') && !PURE_MODULES.includes(target),
    );
    assert.deepEqual(shown(wrong), []);
  });
});

test('the ledger holds no SQL, and the state does', () => {
  const withSql = sourcesIn('src/{ledger,state}/**/*.ts').filter(({ text }) => SQL.test(text));
  const rooms = new Set(withSql.map(({ path }) => roomOf(path)));
  assert.deepEqual([...rooms], ['state']);
});

test('a dependency is named by one exact version', () => {
  for (const path of ['package.json', 'bench/peers/package.json']) {
    const { dependencies, devDependencies, overrides } = JSON.parse(projectFile(path)) as Record<string, object>;
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...overrides })) {
      // Of PostgreSQL's binaries there are only betas, named after its own versions.
      assert.match(String(version), /^\d+\.\d+\.\d+(?:-beta\.\d+)?$/, name);
    }
  }
});
