/** Plays one cell of the failure matrix, and compares the result with the table. */
import assert from 'node:assert/strict';
import { ERROR_STATUS } from '../../src/core/errors.ts';
import type { FailureReason } from '../../src/core/failure.ts';
import { DONE, USAGE } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat } from '../support/gateway.ts';
import { type RawAnswer, RawConnection, rawCompletion } from '../support/raw.ts';
import type { Row } from '../support/state.ts';
import { bounded, until } from '../support/wait.ts';
import { type Charge, HELLO, PROMPT, reasonsFor, type Sight, WORDS } from './cell.ts';
import { type Place, type Site, UPSTREAM_KEY } from './site.ts';

/** At 1,000 nanodollars per token of input and 2,000 per token of output. */
const REPORTED_NANOS = 1_000 * USAGE.prompt_tokens + 2_000 * USAGE.completion_tokens;

/**
 * Throws if a cell deviates. Returns the milliseconds until the client had its response, or from
 * its hang-up to the settlement.
 */
export async function play(site: Site, place: Place): Promise<number> {
  const { cell, host, key } = place;
  const connection = await RawConnection.open(site.port);
  const isLeft = Promise.withResolvers<number>();
  const leave = () => {
    connection.leave();
    isLeft.resolve(performance.now());
  };
  const answered = Promise.withResolvers<RawAnswer>();
  host.upstream?.follow(async (call) => {
    await cell.case.play.opening?.(call);
    // If this process lags, the timeout may already have ended the response, which is then read at
    // once.
    if (cell.case.play.isRead) await Promise.race([connection.has(HELLO), answered.promise]);
    if (cell.leaving !== 'stays') leave();
    if (cell.leaving === 'leaves' && cell.stream) await call.closed;
    await cell.case.play.fault(call);
  });
  const startedAt = performance.now();
  connection.send(
    rawCompletion(
      key,
      chat({ model: place.model, stream: cell.stream, messages: [{ role: 'user', content: PROMPT }] }),
    ),
  );
  let milliseconds: number;
  if (cell.leaving === 'stays') {
    const answer = await connection.answer();
    answered.resolve(answer);
    milliseconds = performance.now() - startedAt;
    site.answers.push(`${JSON.stringify([...answer.headers])}${answer.body}`);
    const row = await site.row(key);
    assertSight(place, answer);
    assert.equal(row.request_id, answer.headers.get('x-request-id'));
    connection.leave();
  } else {
    if (cell.case.leaves.asked === 0) await site.admitted(key).then(leave);
    const leftAt = await bounded(isLeft.promise, 'the client has left');
    await site.row(key);
    milliseconds = performance.now() - leftAt;
  }
  assertBooked(place, await site.row(key));
  await assertLeftAlone(site, place);
  return milliseconds;
}

function assertSight({ cell, host }: Place, answer: RawAnswer): void {
  const { sees } = cell.case.stays;
  const told = `${answer.body}${[...answer.headers.values()].join()}`;
  for (const secret of [UPSTREAM_KEY, new URL(host.baseUrl).host]) assert.ok(!told.includes(secret), told);
  if (sees.kind === 'error') return assertSays(sees, assertError(answer, ERROR_STATUS[sees.code], sees.code));
  assert.equal(answer.status, 200, answer.body);
  ratesOf(answer.headers);
  if (sees.kind === 'whole') return assertWhole(answer.body, cell.stream, sees.leastBytes);
  const lineAt = answer.body.lastIndexOf('data: {"error"');
  assert.ok(lineAt > 0 && answer.body.endsWith(DONE), answer.body);
  const { error, ...rest } = JSON.parse(answer.body.slice(lineAt + 'data: '.length, -DONE.length));
  assert.deepEqual([Object.keys(rest), Object.keys(error), error.code], [[], ['code', 'message'], 'upstream_error']);
  assertSays(sees, error.message);
  // The client must get neither a partial event nor the provider's error next to ours.
  const events = answer.body.slice(0, lineAt).split('\n\n').slice(0, -1);
  for (const text of events) assert.doesNotThrow(() => JSON.parse(text.slice('data: '.length)), answer.body);
  assert.ok(!events.some((text) => text.includes('"error"')), answer.body);
}

function assertSays({ says, words }: Exclude<Sight, { kind: 'whole' }>, message: string): void {
  assert.ok(message.includes(says), message);
  assert.equal(message.includes(WORDS), words, message);
}

function assertWhole(body: string, stream: boolean, leastBytes: number): void {
  assert.ok(body.length >= leastBytes, `${body.length} bytes`);
  if (!stream) return assert.ok(Array.isArray(JSON.parse(body).choices), body);
  assert.ok(body.endsWith(DONE) && body.indexOf(DONE) === body.lastIndexOf(DONE), body.slice(-1_000));
  assert.ok(!body.includes('"error"'), body.slice(-1_000));
}

/** The outcome in the journal of a response like this. */
function outcomeOf(sight: Sight): string {
  if (sight.kind === 'whole') return 'ok';
  return sight.kind === 'error' ? sight.code : 'upstream_error';
}

function assertBooked({ cell, host }: Place, row: Row): void {
  const { stays, leaves } = cell.case;
  const asked = host.upstream?.calls.length ?? 0;
  const reasons = row.outcome === 'cancelled' ? [null] : reasonsFor(stays.sees);
  assert.ok(reasons.includes(row.failure_reason as FailureReason | null), `the reason is ${row.failure_reason}`);
  for (const secret of [WORDS, PROMPT, UPSTREAM_KEY]) assert.ok(!row.failure_message?.includes(secret));
  if (cell.leaving === 'stays') {
    assert.equal(row.outcome, outcomeOf(stays.sees));
    assertCharged(row, [stays.charge]);
    assert.equal(asked, stays.asked, 'how often the provider was asked');
  } else if (cell.leaving === 'leaves') {
    // A request that is no stream is read on, and may end before the gateway sees that its client has left.
    const outcomes = cell.stream
      ? leaves.outcome.split(' or ')
      : ['cancelled', 'upstream_error', outcomeOf(stays.sees)];
    assert.ok(outcomes.includes(row.outcome), row.outcome);
    assertCharged(row, [leaves.charge]);
    assert.equal(asked, leaves.asked, 'how often the provider was asked');
  } else {
    assert.ok(['cancelled', outcomeOf(stays.sees)].includes(row.outcome), row.outcome);
    // A cancelled request is never free if the provider was reached, and never costs more than what
    // is known.
    const reported: Charge[] = stays.sees.kind === 'whole' ? ['reported'] : [];
    assertCharged(row, row.outcome === 'cancelled' ? [leaves.charge, stays.charge, ...reported] : [stays.charge]);
    assert.ok(asked <= 1);
  }
}

function assertCharged(row: Row, charges: readonly Charge[]): void {
  const { source, prompt_tokens, completion_tokens, cost_nanos } = row;
  const isNothing = prompt_tokens === 0 && completion_tokens === 0 && cost_nanos === 0;
  const isCharged = prompt_tokens > 0 && completion_tokens > 0 && cost_nanos > 0;
  const held = charges.some((charge) => {
    if (charge === 'nothing') return isNothing;
    if (charge === 'counted') return source === 'counted' && isCharged;
    if (charge === 'held') return source === 'held' && isCharged && cost_nanos === row.hold_nanos;
    return source === 'reported' && cost_nanos === REPORTED_NANOS;
  });
  assert.ok(held, `expected ${charges.join(' or ')}: ${JSON.stringify(row)}`);
}

/** The slot is free, and the only connections left are reusable ones. */
async function assertLeftAlone(site: Site, { cell, host, key }: Place): Promise<void> {
  assert.equal(await site.serving.chatOutcome(key.secret), '200');
  const { ends } = cell.case.stays;
  const mayBeKept = (cell.leaving !== 'leaves' || !cell.stream) && (ends === 'at once' || ends === 'after its answer');
  await until(() => host.connections() <= (mayBeKept ? 1 : 0));
}
