/** An attempt that is stopped: what had arrived can still be read, and the host is told at once where nothing waits. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Attempt, UpstreamFailure } from '../../../src/upstream/attempt.ts';

const READ_BYTES = 64 * 1024;

/** An attempt whose connection holds so many reads more, one for each turn of the event loop. */
function attempted(reads: number) {
  const attempt = new Attempt();
  const source = { isPaused: false, aborts: 0, resumes: 0 };
  let left = reads;
  const read = () => {
    if (source.isPaused || source.aborts > 0 || left === 0) return;
    left--;
    attempt.push(Buffer.alloc(READ_BYTES));
    setImmediate(read);
  };
  attempt.begin({
    pause: () => {
      source.isPaused = true;
    },
    resume: () => {
      source.isPaused = false;
      source.resumes++;
      setImmediate(read);
    },
    abort: () => source.aborts++,
  });
  return { attempt, source };
}

/** Everything up to the failure that ends it. */
async function readOut(attempt: Attempt): Promise<number> {
  let bytes = 0;
  try {
    for (let chunk = await attempt.next(); chunk !== undefined; chunk = await attempt.next()) bytes += chunk.length;
  } catch (error) {
    assert.ok(error instanceof UpstreamFailure && error.kind === 'aborted');
  }
  return bytes;
}

describe('an attempt that is stopped', () => {
  test('ends at once if its reader keeps up', async () => {
    const { attempt, source } = attempted(100);
    attempt.push(Buffer.alloc(10));
    const stopped = attempt.stop();
    assert.equal(source.aborts, 1);
    await stopped;
    assert.equal(await readOut(attempt), 10);
  });

  test('takes in all that waits if its reader was behind', async (t) => {
    // However long this machine takes for it.
    t.mock.method(performance, 'now', () => 0);
    const { attempt, source } = attempted(20);
    attempt.push(Buffer.alloc(READ_BYTES));
    assert.ok(source.isPaused);
    const [bytes] = await Promise.all([readOut(attempt), attempt.stop()]);
    assert.deepEqual([bytes, source.aborts], [21 * READ_BYTES, 1]);
  });

  test('takes in no more than a system keeps', async () => {
    const { attempt, source } = attempted(1_000);
    attempt.push(Buffer.alloc(READ_BYTES));
    const [bytes] = await Promise.all([readOut(attempt), attempt.stop()]);
    assert.ok(bytes <= 9 * 1024 * 1024, `${bytes} bytes`);
    assert.equal(source.aborts, 1);
  });

  test('before it was sent is never sent', async () => {
    const attempt = new Attempt();
    await attempt.stop();
    let aborts = 0;
    attempt.begin({ pause() {}, resume() {}, abort: () => aborts++ });
    assert.deepEqual([aborts, attempt.sent], [1, false]);
  });

  test('twice, or after its end, stays as it is', async () => {
    const { attempt, source } = attempted(0);
    attempt.push(Buffer.alloc(10));
    attempt.end();
    await attempt.stop();
    await attempt.stop();
    assert.deepEqual([await readOut(attempt), source.aborts], [10, 0]);
  });
});

describe('an attempt whose bytes are passed on as they arrive', () => {
  const words = (attempt: Attempt, take: (word: string) => string | undefined | Promise<string | undefined>) =>
    attempt.each((chunk) => take(chunk.toString()));

  test('passes the bytes of one read on together, and ends with the response', async () => {
    const attempt = new Attempt();
    const taken: string[] = [];
    const ended = words(attempt, (word) => void taken.push(word));
    for (const read of [['a', 'b'], ['c']]) {
      for (const part of read) attempt.push(Buffer.from(part));
      await null;
    }
    attempt.push(Buffer.from('d'));
    attempt.end();
    assert.equal(await ended, undefined);
    assert.deepEqual(taken, ['ab', 'c', 'd']);
  });

  test('takes nothing more after a result', async () => {
    const attempt = new Attempt();
    const taken: string[] = [];
    const result = words(attempt, (word) => (taken.push(word) === 2 ? 'enough' : undefined));
    for (const part of ['a', 'b', 'c']) {
      attempt.push(Buffer.from(part));
      await null;
    }
    assert.equal(await result, 'enough');
    assert.deepEqual(taken, ['a', 'b']);
    assert.equal((await attempt.next())?.toString(), 'c');
  });

  test('waits for a promise, and pauses its source once enough waits', async () => {
    const attempt = new Attempt();
    let pauses = 0;
    attempt.begin({ pause: () => pauses++, resume() {}, abort() {} });
    const caughtUp = Promise.withResolvers<undefined>();
    const taken: number[] = [];
    const ended = attempt.each((chunk) => {
      taken.push(chunk.length);
      return taken.length === 1 ? caughtUp.promise : undefined;
    });
    for (const bytes of [1, READ_BYTES, READ_BYTES]) {
      attempt.push(Buffer.alloc(bytes));
      await null;
    }
    assert.deepEqual([taken, pauses], [[1], 1]);
    caughtUp.resolve(undefined);
    attempt.end();
    assert.equal(await ended, undefined);
    assert.deepEqual(taken, [1, 2 * READ_BYTES]);
  });

  test('rejects with its failure, after the bytes before it, and with an error of the reader', async () => {
    const attempt = new Attempt();
    const taken: string[] = [];
    attempt.push(Buffer.from('a'));
    attempt.fail(new UpstreamFailure('broken', 'the connection was lost'));
    await assert.rejects(
      words(attempt, (word) => void taken.push(word)),
      UpstreamFailure,
    );
    assert.deepEqual(taken, ['a']);
    const other = new Attempt();
    other.push(Buffer.from('a'));
    const failing = () => {
      throw new TypeError('not this one');
    };
    await assert.rejects(other.each(failing), TypeError);
  });
});
