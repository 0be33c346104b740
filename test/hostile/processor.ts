/**
 * Processor time that an attack takes from a gateway's process, beside that of a control in the
 * same run.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { MAX_TPM } from '../../src/core/limits.ts';
import { answering, chunk, completion, DONE, streaming } from '../support/answers.ts';
import { SERVE } from '../support/cli.ts';
import type { Script } from '../support/fake-upstream.ts';
import { Place, type TestKey } from '../support/place.ts';
import { Random } from '../support/random.ts';
import { RawConnection } from '../support/raw.ts';
import type { Scope } from '../support/run-scope.ts';
import { textOf } from './texts.ts';

/** Linux counts processor time in these. */
const MS_PER_TICK = 10;
const TIMES = 4;

/** What all threads of a process have taken so far, in milliseconds. */
function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold anything; user and system time are the 12th and 13th field
  // after it.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) * MS_PER_TICK;
}

async function cpuMsDuring(place: Place, work: () => Promise<unknown>): Promise<number> {
  const before = cpuMsOf(place.serving.pid);
  await work();
  return cpuMsOf(place.serving.pid) - before;
}

/** The cheapest of several times: the first ones compile the code. */
async function leastCpuMs(measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < TIMES; time++) least = Math.min(least, await measure());
  return least;
}

/** A body rich in parts, for a model that does not exist. */
function largeBody(bytes: number): string {
  const part = { type: 'text', text: 'x'.repeat(100) };
  const content = Array(Math.floor(bytes / (JSON.stringify(part).length + 1)) - 10).fill(part);
  return JSON.stringify({ model: 'host/none', messages: [{ role: 'user', content }] });
}

/** Processor time for several refused bodies at once, over that of one of them alone. */
export async function cpuOfRefusedBodies(scope: Scope, count: number, bytes: number): Promise<number> {
  const place = await Place.open(scope, { max_body: `${bytes / 1024}kb` }, SERVE);
  const body = largeBody(bytes);
  const cpuMsOf = (key: TestKey, bodies: number) =>
    cpuMsDuring(place, () => Promise.all(Array.from({ length: bodies }, () => answerTo(place, key, body))));
  // A key for each: a key that has just sent a large body may be refused before its next one is read.
  const controlMs = await leastCpuMs(() => cpuMsOf(place.key(), 1));
  const attackMs = await cpuMsOf(place.key(), count);
  await place.stop();
  return attackMs / Math.max(MS_PER_TICK, controlMs);
}

/** Sends a request over a connection of its own, which may be closed instead of an answer. */
async function answerTo(place: Place, key: TestKey, body: string): Promise<void> {
  const connection = await RawConnection.sending(
    place.port,
    'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\n' +
      `Authorization: Bearer ${key.secret}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await connection.rest();
}

/** Processor time for counting the tokens of a body, over that of a request with the same one. */
export async function cpuOfCount(scope: Scope, bytes: number): Promise<number> {
  const place = await Place.open(scope, {}, SERVE);
  const prices = { input: 0, output: 0, cache_write: 0, cache_write_1h: 0 };
  const host = place.host({ kind: 'anthropic', models: { model: prices } });
  await place.reload({ providers: { host } });
  const usage = { input_tokens: 10, output_tokens: 5 };
  place.upstream.follow((call) => {
    if (call.path.includes('count_tokens')) return call.answer(404, { error: { message: 'no such path' } });
    call.answer(200, {
      id: 'msg_1',
      type: 'message',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage,
    });
  });
  const text = textOf('prose', bytes, new Random(1));
  const body = JSON.stringify({ model: 'host/model', max_tokens: 10, messages: [{ role: 'user', content: text }] });
  const limits = { tpm: MAX_TPM, spendLimitNanos: null };
  const sending = (key: TestKey, path: string) => () =>
    fetch(`${place.serving.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}` },
      body,
    }).then(async (response) => assert.equal(response.status, 200, await response.text()));
  const serve = sending(place.key(limits), '/v1/messages');
  const count = sending(place.key({ ...limits, spendLimitNanos: 0n }), '/v1/messages/count_tokens');
  await serve();
  const controlMs = await leastCpuMs(() => cpuMsDuring(place, serve));
  const attackMs = await cpuMsDuring(place, count);
  await place.stop();
  return attackMs / Math.max(MS_PER_TICK, controlMs);
}

/**
 * Processor time for an answer with these choices, over that of one as long that holds one text.
 */
export function cpuOfAnswer(scope: Scope, stream: boolean, choices: string): Promise<number> {
  const text = JSON.stringify('a'.repeat(choices.length));
  const plain = `[{"index":0,"${stream ? 'delta' : 'message'}":{"content":${text}},"finish_reason":"stop"}]`;
  const script = (list: string): Script => {
    const json = `{"choices":${list},${USAGE}}`;
    return stream ? streaming(`data: ${json}\n\n`, DONE) : answering(json);
  };
  return cpuOfScript(scope, stream, script(choices), script(plain));
}

/** Processor time for a stream that begins with this text, over that of one as long that holds one text. */
export function cpuOfPreface(scope: Scope, preface: string): Promise<number> {
  const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],${USAGE}}\n\n${DONE}`;
  const text = chunk('a'.repeat(preface.length));
  return cpuOfScript(scope, true, streaming(chunk('a'), preface, end), streaming(chunk('a'), text, end));
}

const USAGE = '"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}';

/** Processor time for the answer of a script, over that of another. */
async function cpuOfScript(scope: Scope, stream: boolean, attack: Script, control: Script): Promise<number> {
  // An answer without a report costs a fortune, and a key's tokens of a minute.
  const place = await Place.open(scope, { credit: 'off' }, SERVE);
  const answer = (script: Script) => async () => {
    place.upstream.follow(script);
    await (await place.chat(place.key(), { stream })).text();
    assert.equal(place.upstream.calls.length, 1, 'the answer was asked for');
    place.upstream.calls.length = 0;
  };
  // The first request starts what all others need.
  place.upstream.follow(answering(completion('hi')));
  await (await place.chat(place.key())).text();
  place.upstream.calls.length = 0;
  let [controlMs, attackMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // In turns: several bad answers in a row would open the circuit.
  for (let time = 0; time < TIMES; time++) {
    controlMs = Math.min(controlMs, await cpuMsDuring(place, answer(control)));
    attackMs = Math.min(attackMs, await cpuMsDuring(place, answer(attack)));
  }
  await place.stop();
  return attackMs / Math.max(MS_PER_TICK, controlMs);
}
