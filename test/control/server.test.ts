/**
 * The control server with handlers of the test: who may open its socket, and how much its feeds ask
 * for.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { readSnapshot } from '../../src/control/client.ts';
import { type Snapshot, socketPathOf } from '../../src/control/protocol.ts';
import { type ControlHandlers, ControlServer } from '../../src/control/server.ts';
import { UserError } from '../../src/core/errors.ts';
import { parsePostgresAddress } from '../../src/core/postgres-address.ts';
import type { SnapshotQuery } from '../../src/observe/worker-snapshot.ts';
import { askControl } from '../support/place.ts';
import { bounded, until } from '../support/wait.ts';

/** The time between two events. The tests advance it by hand. */
const FEED_MS = 500;
const MAX_FEEDS = 16;

const NO_FIGURES = { seconds: [], minutes: [], recent: [], now_ms: 0 } as unknown as Snapshot;

const NOTHING: ControlHandlers = {
  snapshot: async () => NO_FIGURES,
  models: () => [],
  reload: async () => {},
  drain: () => {},
  takeOver: () => assert.fail(),
  stopRequest: async () => false,
  refusals: () => assert.fail(),
  keyRefusal: async () => undefined,
  refusedMinutes: () => assert.fail(),
  explain: () => assert.fail(),
};

/** Creates a directory for the test. */
function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-control-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function openServer(t: TestContext, handlers: Partial<ControlHandlers> = {}): Promise<string> {
  const path = join(openFolder(t), 'control');
  const server = new ControlServer(path, { ...NOTHING, ...handlers });
  await server.listen();
  t.after(() => server.close());
  return path;
}

/** The reader of a feed. */
class Feed {
  readonly status: number;
  readonly #call: ClientRequest;
  readonly #response: IncomingMessage;
  readonly #ended: Promise<void>;
  events = 0;

  private constructor(call: ClientRequest, response: IncomingMessage) {
    this.#call = call;
    this.#response = response;
    this.status = response.statusCode ?? 0;
    response.setEncoding('utf8').on('data', (text: string) => {
      this.events += text.split('\n\n').length - 1;
    });
    response.on('error', () => {});
    this.#ended = new Promise((resolve) => response.once('close', resolve));
  }

  static async open(t: TestContext, socketPath: string, query = ''): Promise<Feed> {
    const call = request({ socketPath, path: `/feed${query}`, agent: false }).end();
    t.after(() => call.destroy());
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    return new Feed(call, response);
  }

  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  leave(): void {
    this.#call.destroy();
  }

  /** Resolves when the server has ended the feed. */
  get ended(): Promise<void> {
    return bounded(this.#ended, 'the feed ends');
  }
}

/** Lets everything happen that needs no time to pass. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await setImmediate();
}

describe('the path of the socket', () => {
  test('is beside the state file, or in a folder of its own if that path is too long for a socket', () => {
    const fitting = `/${'x'.repeat(103 - '/-control'.length)}`;
    const socketOf = (path: string) => socketPathOf({ state: { kind: 'file', path }, node: 'any' });
    assert.equal(socketOf(fitting), `${fitting}-control`);
    const tooLong = [`${fitting}x`, `/${'ä'.repeat(60)}`, `/${'y'.repeat(5_000)}`];
    const paths = tooLong.map(socketOf);
    assert.equal(new Set(paths).size, tooLong.length, 'each state file has its own');
    for (const path of paths) assert.ok(path.startsWith(join(tmpdir(), 'inf-gw-')) && Buffer.byteLength(path) <= 103);
  });

  test('is one for each gateway of a database, whoever signs in there, and never long', () => {
    const socketOf = (url: string, node: string) => {
      const parsed = parsePostgresAddress(url, '/');
      assert.ok(parsed.kind === 'address');
      return socketPathOf({ state: { kind: 'postgres', address: parsed.address }, node });
    };
    const own = socketOf('postgres://gw:a@db/gateway', 'blue');
    assert.equal(socketOf('postgres://operator:b@db:5432/gateway', 'blue'), own);
    const others = [
      socketOf('postgres://gw:a@db/gateway', 'green'),
      socketOf('postgres://gw:a@db/other', 'blue'),
      socketOf('postgres://gw:a@db2/gateway', 'blue'),
      socketOf('postgres://gw:a@db:5433/gateway', 'x'.repeat(64)),
    ];
    assert.equal(new Set([own, ...others]).size, 5);
    for (const path of [own, ...others]) assert.ok(Buffer.byteLength(path) <= 103, path);
  });

  test('is in a folder that is closed to others, or the gateway does not start and nobody asks it', async (t) => {
    const folder = openFolder(t);
    const before = process.env.XDG_RUNTIME_DIR;
    process.env.XDG_RUNTIME_DIR = folder;
    t.after(() => {
      if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
      else process.env.XDG_RUNTIME_DIR = before;
    });
    const path = socketPathOf({ state: { kind: 'file', path: `/${'y'.repeat(200)}` }, node: 'any' });
    assert.equal(dirname(path), join(folder, 'inf-gw'));
    const server = new ControlServer(path, NOTHING);
    await server.listen();
    t.after(() => server.close());
    assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    chmodSync(dirname(path), 0o777);
    await assert.rejects(readSnapshot(path), /is open to other users; run chmod 700 /);
    await assert.rejects(
      async () => new ControlServer(path, NOTHING).listen(),
      /name a folder of your own in XDG_RUNTIME_DIR/,
    );
  });

  test('that cannot be looked at is not taken for one that is not there', async (t) => {
    const loop = join(openFolder(t), 'loop');
    symlinkSync(loop, loop);
    await assert.rejects(readSnapshot(join(loop, 'control')), UserError);
    assert.equal(await readSnapshot(join(dirname(loop), 'control')), undefined);
  });

  test('can be opened at the maximum length', async (t) => {
    const folder = openFolder(t);
    const path = join(folder, 'x'.repeat(103 - `${folder}/-control`.length));
    const server = new ControlServer(socketPathOf({ state: { kind: 'file', path }, node: 'any' }), NOTHING);
    await server.listen();
    t.after(() => server.close());
    assert.equal((await askControl(`${path}-control`, 'GET', '/snapshot')).status, 200);
  });
});

test('the socket is private from its first moment on, and the umask is restored', async (t) => {
  const path = join(openFolder(t), 'control');
  const server = new ControlServer(path, NOTHING);
  const mask = process.umask(0);
  t.after(() => process.umask(mask));
  const listening = server.listen();
  // No asynchronous work has run yet.
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(process.umask(), 0);
  await listening;
  assert.equal(statSync(path).mode & 0o777, 0o600);
  server.close();
});

describe('a feed', () => {
  test('sends its first event at once, and another one every half second', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let snapshots = 0;
    const path = await openServer(t, {
      snapshot: (...asked) => {
        snapshots++;
        return NOTHING.snapshot(...asked);
      },
    });
    const feed = await Feed.open(t, path);
    for (let expected = 1; expected <= 5; expected++) {
      while (feed.events < expected) await setImmediate();
      await settle();
      assert.deepEqual([feed.events, snapshots], [expected, expected]);
      t.mock.timers.tick(FEED_MS - 1);
      await settle();
      assert.deepEqual([feed.events, snapshots], [expected, expected]);
      t.mock.timers.tick(1);
    }
  });

  test('starts with the past, then sends what is new, and no more than the query asks for', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const asked: SnapshotQuery[] = [];
    const path = await openServer(t, {
      snapshot: async (query) => {
        asked.push(query);
        const count = asked.length;
        const seconds = [{ at_s: 100 + count }, { at_s: 200 + count }];
        // The clock is set back before the last snapshot.
        return {
          seconds,
          minutes: [{ at_s: 60 * count }],
          recent: [{ ended_at_ms: 9_000 + count }],
          now_ms: count < 3 ? 10_000 : 5_000,
        } as unknown as Snapshot;
      },
    });
    const feed = await Feed.open(t, path, '?keys=key_1,key_2&max_live=40&minutes_since_s=1');
    for (let expected = 1; expected <= 4; expected++) {
      while (feed.events < expected) await setImmediate();
      await settle();
      t.mock.timers.tick(FEED_MS);
    }
    const same = { keyIds: ['key_1', 'key_2'], maxLive: 40, firstByteSteps: 0 };
    assert.deepEqual(asked.slice(0, 4), [
      { ...same, sinceS: 0, minutesSinceS: 1, endedSinceMs: 0, maxEnded: 200 },
      { ...same, sinceS: 201, minutesSinceS: 60, endedSinceMs: 9_001, maxEnded: 40 },
      { ...same, sinceS: 202, minutesSinceS: 120, endedSinceMs: 9_002, maxEnded: 40 },
      { ...same, sinceS: 203, minutesSinceS: 180, endedSinceMs: 5_000, maxEnded: 40 },
    ]);
  });

  test('limits the requests in a snapshot to what the query asks for, and to the maximums', async (t) => {
    const asked: SnapshotQuery[] = [];
    const path = await openServer(t, {
      snapshot: async (query) => {
        asked.push(query);
        return NO_FIGURES;
      },
    });
    for (const query of [
      '?max_live=0&max_ended=0',
      '',
      '?max_live=1000000&max_ended=1000000',
      '?max_live=x&max_ended=x',
      '?max_live=-1',
    ]) {
      await askControl(path, 'GET', `/snapshot${query}`);
    }
    const rows = asked.map(({ maxLive, maxEnded }) => [maxLive, maxEnded]);
    assert.deepEqual(rows, [
      [0, 0],
      [500, 200],
      [500, 200],
      [0, 0],
      [0, 200],
    ]);
  });

  test('waits for a reader that has paused, and goes on when it reads', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let snapshots = 0;
    const large = { ...NO_FIGURES, filler: 'x'.repeat(1024 * 1024) } as unknown as Snapshot;
    const path = await openServer(t, {
      snapshot: async () => {
        snapshots++;
        return large;
      },
    });
    const feed = await Feed.open(t, path);
    feed.pause();
    for (let i = 0; i < 100; i++) {
      t.mock.timers.tick(FEED_MS);
      await settle();
    }
    const held = snapshots;
    assert.ok(held <= 2, `${held} snapshots of a megabyte each were made for a reader that has paused`);
    feed.resume();
    while (snapshots < held + 5) {
      t.mock.timers.tick(FEED_MS);
      await settle();
    }
  });

  test(`is rejected while ${MAX_FEEDS} others are open`, async (t) => {
    const path = await openServer(t);
    const feeds = await Promise.all(Array.from({ length: MAX_FEEDS }, () => Feed.open(t, path)));
    assert.ok(feeds.every(({ status }) => status === 200));
    assert.equal((await Feed.open(t, path)).status, 429);
    assert.equal((await askControl(path, 'GET', '/snapshot')).status, 200, 'other requests are still answered');
    feeds[3]?.leave();
    await until(async () => (await Feed.open(t, path)).status === 200);
    assert.equal((await Feed.open(t, path)).status, 429);
  });

  test('that fails ends, and new ones can still be opened', async (t) => {
    let snapshots = 0;
    const path = await openServer(t, {
      snapshot: async (...asked) => {
        if (++snapshots === 2) throw new Error('no figures');
        return NOTHING.snapshot(...asked);
      },
    });
    const feed = await Feed.open(t, path);
    await feed.ended;
    assert.equal((await Feed.open(t, path)).status, 200);
  });
});

test('an error in a handler is a 500 answer with its message', async (t) => {
  const fail = async () => {
    throw new Error('no figures');
  };
  const path = await openServer(t, { snapshot: fail, stopRequest: fail });
  for (const [method, target] of [
    ['GET', '/snapshot'],
    ['POST', '/stop-request?id=x'],
  ] as const) {
    const { status, text } = await askControl(path, method, target);
    assert.deepEqual([status, JSON.parse(text)], [500, { lines: ['no figures'] }], target);
  }
});

/** Bytes from a client, and the first line of the answer; the server then closes the connection. */
const ODD_CLIENTS: readonly (readonly [name: string, sent: string, answer: RegExp])[] = [
  ['bytes that are not HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['a header of 20 KB', `GET /snapshot HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
  ['a body that is not read', 'POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n', /^HTTP\/1\.1 200 /],
  ['a chunked body', 'POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx', /^HTTP\/1\.1 200 /],
  ['a body of 400 MB', 'POST /explain HTTP/1.1\r\nHost: a\r\nContent-Length: 400000000\r\n\r\n', /^HTTP\/1\.1 413 /],
  ['a request for a tunnel', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', /^$/],
];

for (const [name, sent, answer] of ODD_CLIENTS) {
  test(`a client that sends ${name} is answered, and its connection is closed`, async (t) => {
    const path = await openServer(t);
    const socket = connect(path);
    t.after(() => socket.destroy());
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
    });
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    socket.write(sent);
    await bounded(closed, 'the connection closes');
    assert.match(text, answer);
    assert.equal((await askControl(path, 'GET', '/snapshot')).status, 200);
  });
}

/** What answers in the place of a gateway, and what the asker is told. */
const IMPOSTORS: readonly (readonly [what: string, answer: (response: ServerResponse) => void, told: RegExp])[] = [
  ['no JSON', (response) => response.end('\x1b[2J'), /^the gateway at \S+ does not answer: Unexpected token/],
  [
    'more than anybody has room for',
    (response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, 0x20)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    /^the gateway at \S+ does not answer: its answer has more than 67108864 characters$/,
  ],
];

for (const [what, answer, told] of IMPOSTORS) {
  test(`an impostor that answers with ${what} is found out`, async (t) => {
    const path = join(openFolder(t), 'control');
    const server = createServer((_, response) => answer(response)).listen(path);
    t.after(() => server.close());
    await once(server, 'listening');
    await assert.rejects(readSnapshot(path), (error) => error instanceof UserError && told.test(error.lines.join()));
  });
}
