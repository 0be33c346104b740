/** Which commands are answered at once, and which after a flush. */
import assert from 'node:assert/strict';
import test, { beforeEach } from 'node:test';
import type { RateFigures } from '../../../src/core/limits.ts';
import type { Answer, ClientPort, Command, DecidedCommand } from '../../../src/ledger/protocol.ts';
import { Responder } from '../../../src/ledger/responder.ts';

const FIGURES: RateFigures = {
  limitRequests: 1,
  remainingRequests: 1,
  resetRequestsS: 1,
  limitTokens: 1,
  remainingTokens: 1,
  resetTokensS: 1,
};

/** A port that records each delivery: `1,2 f1` for answers to the tickets 1 and 2, flushed up to commit 1. */
class Port implements ClientPort {
  told: string[] = [];
  #answered: number[] = [];
  answer(ticket: number): void {
    this.#answered.push(ticket);
  }
  deliver(_commit: number, flushed: number): void {
    this.told.push(`${this.#answered.splice(0)} f${flushed}`.trim());
  }
  tell(): void {
    assert.fail();
  }
  take(): string[] {
    return this.told.splice(0);
  }
}

/** A store whose flushes end when the test says so. */
class Store {
  needsFlush = true;
  readonly flushes: PromiseWithResolvers<void>[] = [];
  flush(): Promise<void> {
    const flush = Promise.withResolvers<void>();
    this.flushes.push(flush);
    return flush.promise;
  }
  prepared = 0;
  prepareFlush(): void {
    this.prepared++;
  }
  waitsForFlush({ kind }: Command): boolean {
    return kind === 'settle';
  }
  isFlushedAtOnce(command: Command): boolean {
    return command.kind === 'admit' && command.request.stream === true;
  }
}

function setUp() {
  const store = new Store();
  const ports = [new Port(), new Port()];
  return { store, responder: new Responder(store), ports };
}

let ticket = 0;

function decided(port: ClientPort | undefined, command: unknown, answer: Answer): DecidedCommand {
  return { ticket: ++ticket, command: command as Command, port: port as ClientPort, answer };
}

const admission = (port: Port | undefined, stream = false) =>
  decided(port, { kind: 'admit', request: { stream } }, { admitted: true, figures: FIGURES });
const settlement = (port: Port | undefined) => decided(port, { kind: 'settle' }, FIGURES);

beforeEach(() => {
  ticket = 0;
});

test('an admission is answered at once, a settlement after the flush of its commit', async () => {
  const { store, responder, ports } = setUp();
  responder.answer([admission(ports[0]), settlement(ports[0]), settlement(ports[1])], true);
  assert.deepEqual([ports[0]?.take(), ports[1]?.take()], [['1 f0'], []]);
  assert.ok(responder.shouldFlush);
  const flushed = responder.flush();
  assert.deepEqual([responder.isBehind, responder.shouldFlush], [true, false]);
  store.flushes[0]?.resolve();
  await flushed;
  assert.deepEqual([ports[0]?.take(), ports[1]?.take()], [['2 f1'], ['3 f1']]);
  assert.deepEqual([responder.isBehind, responder.shouldFlush], [false, false]);
});

test('what is committed while a flush runs waits for the next one', async () => {
  const { store, responder, ports } = setUp();
  responder.answer([settlement(ports[0])], true);
  const first = responder.flush();
  responder.answer([settlement(ports[0])], true);
  store.flushes[0]?.resolve();
  await first;
  assert.deepEqual(ports[0]?.take(), ['1 f1']);
  assert.ok(responder.shouldFlush);
  const second = responder.flush();
  store.flushes[1]?.resolve();
  await second;
  assert.deepEqual(ports[0]?.take(), ['2 f2']);
});

test('an admission alone is flushed at once only for a stream, and then its port is told', async () => {
  const { store, responder, ports } = setUp();
  responder.answer([admission(ports[0])], true);
  assert.equal(responder.shouldFlush, false);
  responder.answer([admission(ports[0], true)], true);
  assert.ok(responder.shouldFlush);
  const flushed = responder.flush();
  store.flushes[0]?.resolve();
  await flushed;
  assert.deepEqual([ports[0]?.take(), ports[1]?.take()], [['1 f0', '2 f0', 'f2'], []]);
});

test('a port that asks for a flush is told once, also if the commit is flushed by then', async () => {
  const { store, responder, ports } = setUp();
  responder.answer([admission(ports[0])], true);
  ports[0]?.take();
  responder.flushFor(ports[0] as ClientPort, 1);
  const flushed = responder.flush();
  responder.answer([admission(ports[0])], true);
  store.flushes[0]?.resolve();
  await flushed;
  assert.deepEqual(ports[0]?.take(), ['2 f0', 'f1']);
  responder.flushFor(ports[0] as ClientPort, 1);
  assert.deepEqual(ports[0]?.take(), ['f1']);
  assert.equal(responder.shouldFlush, false);
});

test('the next flush is prepared while one runs, as soon as a later commit is waited for', async () => {
  const { store, responder, ports } = setUp();
  responder.answer([settlement(ports[0])], true);
  assert.equal(store.prepared, 0);
  const flushed = responder.flush();
  responder.answer([admission(ports[0])], true);
  assert.equal(store.prepared, 0);
  responder.flushFor(ports[0] as ClientPort, 2);
  assert.equal(store.prepared, 1);
  responder.answer([settlement(ports[0])], true);
  assert.equal(store.prepared, 2);
  store.flushes[0]?.resolve();
  await flushed;
  responder.answer([settlement(ports[0])], true);
  assert.equal(store.prepared, 2);
});

test('after a failed flush everything still waits, in its order, and is answered once', async () => {
  const { store, responder, ports } = setUp();
  responder.answer([settlement(ports[0])], true);
  const failed = responder.flush();
  responder.answer([settlement(ports[0])], true);
  store.flushes[0]?.reject(new Error('no disk'));
  await assert.rejects(failed, /no disk/);
  assert.deepEqual(ports[0]?.take(), []);
  assert.deepEqual([responder.isBehind, responder.shouldFlush], [true, true]);
  const flushed = responder.flush();
  store.flushes[1]?.resolve();
  await flushed;
  assert.deepEqual(ports[0]?.take(), ['1,2 f2']);
});

test('where commits need no flush, and for what is not committed, every answer comes at once', () => {
  const { store, responder, ports } = setUp();
  responder.answer([settlement(ports[0])], false);
  store.needsFlush = false;
  responder.answer([settlement(ports[0]), admission(ports[0], true)], true);
  assert.deepEqual(ports[0]?.take(), ['1 f0', '2,3 f0']);
  assert.equal(responder.shouldFlush, false);
});
