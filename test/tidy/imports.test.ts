/** Which part of the program may import which: downwards only, and each dependency through one door. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importsOf, projectFile, sourcesIn } from '../support/sources.ts';

/** The rooms of the house from the roof down, and which of those below each may import. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  cli: [
    'tui',
    'usage-shape',
    'lifecycle',
    'program',
    'entries',
    'control',
    'audit',
    'ledger',
    'live',
    'keys',
    'catalog',
    'config',
    'observe',
    'core',
  ],
  tui: ['entries', 'usage-shape', 'control', 'ledger', 'live', 'keys', 'catalog', 'config', 'core'],
  lifecycle: ['snapshot', 'gateway', 'program', 'control', 'config', 'observe', 'core'],
  snapshot: ['gateway', 'carrier', 'program', 'control', 'ledger', 'live', 'core'],
  gateway: ['carrier', 'http', 'ledger', 'live', 'config', 'observe', 'core'],
  carrier: [
    'program',
    'pipeline',
    'dispatch',
    'http',
    'tokens',
    'upstream',
    'ledger',
    'live',
    'catalog',
    'config',
    'observe',
    'core',
  ],
  control: ['live', 'core'],
  pipeline: [
    'admitted',
    'dispatch',
    'resolution',
    'known-keys',
    'listing',
    'ending',
    'plan',
    'http',
    'tokens',
    'relay',
    'wire',
    'ledger',
    'live',
    'catalog',
    'observe',
    'core',
  ],
  admitted: ['dispatch', 'plan', 'http', 'relay', 'wire', 'live', 'catalog'],
  dispatch: ['ending', 'plan', 'relay', 'upstream', 'wire', 'live', 'catalog', 'observe', 'core'],
  resolution: ['http', 'wire', 'catalog', 'core'],
  'known-keys': [],
  listing: ['http', 'ledger', 'catalog', 'core'],
  ending: ['http', 'relay', 'ledger'],
  plan: ['wire', 'catalog', 'core'],
  http: ['wire', 'ledger', 'keys', 'core'],
  tokens: ['wire', 'core'],
  relay: ['upstream', 'wire', 'core'],
  upstream: ['providers', 'wire', 'core'],
  providers: ['wire', 'core'],
  wire: ['core'],
  entries: ['program', 'ledger', 'core'],
  'usage-shape': ['ledger', 'core'],
  // The auditor shares nothing with the ledger.
  audit: ['core'],
  ledger: ['keys', 'core'],
  live: ['core'],
  keys: ['core'],
  catalog: ['core'],
  config: ['core'],
  observe: ['core'],
  program: [],
  core: [],
};

/** Where each package may be imported: a file, or a folder and all within it. */
const DOORS: Readonly<Record<string, string | readonly string[]>> = {
  // And the locks, in sqlite-lock.ts.
  'better-sqlite3': 'src/ledger/sqlite',
  undici: 'src/upstream/',
  yaml: 'src/config/',
  zod: 'src/config/',
  pino: 'src/observe/',
  'pino-pretty': 'src/observe/',
  commander: 'src/cli/',
  'string-width': ['src/cli/', 'src/tui/'],
  ink: 'src/tui/app.ts',
  react: 'src/tui/app.ts',
  // To clients, and on the control socket to the operator.
  'node:http': ['src/http/', 'src/control/'],
  'node:sqlite': 'src/audit/',
  'gpt-tokenizer': 'src/tokens/thread.ts',
};

/** Rooms that compute and do nothing else: of Node itself they may import these modules alone. */
const PURE_ROOMS = ['wire', 'plan', 'providers', 'relay', 'catalog', 'pipeline', 'listing', 'ending'];
const PURE_MODULES = ['node:buffer'];

/** `src/wire/sse.ts` stands in the room `wire`, `src/gateway.ts` is a room by itself. */
function roomOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

/** The package that a module belongs to. */
function packageOf(target: string): string {
  return target.startsWith('node:') ? target : (target.split('/')[0] ?? '');
}

const arrows = sourcesIn('src/**/*.ts').flatMap((source) =>
  importsOf(source).map((target) => ({ from: source.path, target })),
);
const inner = arrows.filter(({ target }) => target.startsWith('src/'));
const outer = arrows.filter(({ target }) => !target.startsWith('src/'));
const shown = (list: typeof arrows) => list.map(({ from, target }) => `${from} imports ${target}`);

describe('the program imports', () => {
  test('downwards only, from room to room', () => {
    const wrong = inner.filter(({ from, target }) => {
      const [room, other] = [roomOf(from), roomOf(target)];
      return room !== other && !(ROOMS[room] ?? []).includes(other);
    });
    assert.deepEqual(shown(wrong), []);
  });

  test('from rooms that all have their place', () => {
    const rooms = new Set(sourcesIn('src/**/*.ts').map(({ path }) => roomOf(path)));
    assert.deepEqual([...rooms].toSorted(), Object.keys(ROOMS).toSorted());
    const order = Object.keys(ROOMS);
    for (const [room, below] of Object.entries(ROOMS)) {
      for (const other of below) assert.ok(order.indexOf(other) > order.indexOf(room), `${other} is above ${room}`);
    }
  });

  test('each package through its one door', () => {
    const wrong = outer.filter(({ from, target }) => {
      const doors = [DOORS[packageOf(target)] ?? []].flat();
      return doors.length === 0 ? !target.startsWith('node:') : !doors.some((door) => from.startsWith(door));
    });
    assert.deepEqual(shown(wrong), []);
  });

  test('every package that it depends on', () => {
    const { dependencies } = JSON.parse(projectFile('package.json')) as { dependencies: Record<string, string> };
    const used = new Set(outer.map(({ target }) => packageOf(target)).filter((name) => !name.startsWith('node:')));
    assert.deepEqual([...used].toSorted(), Object.keys(dependencies).toSorted());
  });

  test('no means of input and output where it is to be pure', () => {
    const wrong = outer.filter(
      ({ from, target }) =>
        PURE_ROOMS.includes(roomOf(from)) && target.startsWith('node:') && !PURE_MODULES.includes(target),
    );
    assert.deepEqual(shown(wrong), []);
  });
});

test('a dependency is named by one exact version', () => {
  for (const path of ['package.json', 'bench/peers/package.json']) {
    const { dependencies, devDependencies, overrides } = JSON.parse(projectFile(path)) as Record<string, object>;
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...overrides })) {
      assert.match(String(version), /^\d+\.\d+\.\d+$/, name);
    }
  }
});
