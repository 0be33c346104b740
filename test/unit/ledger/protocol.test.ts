/** Packed messages between threads arrive as they were sent. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { NO_PARTS } from '../../../src/core/usage.ts';
import type { AdmissionRequest } from '../../../src/ledger/ledger.ts';
import { packCommand, packReply, unpackCommand, unpackReply } from '../../../src/ledger/packing.ts';
import type { Answer, Command } from '../../../src/ledger/protocol.ts';

/** Records with the usual prototype, as messages have them. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
const text = fc.string();
const whole = fc.nat();
const nanos = fc.bigInt({ min: 0n, max: 10n ** 18n });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const admission = record({
  requestId: text,
  keyHash: text,
  model: text,
  reservedTokens: whole,
  inputTokens: whole,
  outputTokens: whole,
  holdNanos: nanos,
  price: maybe(text),
  stream: maybe(fc.boolean()),
  user: maybe(text),
}) as fc.Arbitrary<AdmissionRequest>;
/** The ledger learns of all writes to a cache, and of no other part. */
const parts = fc.integer({ min: 1 }).map((cacheWriteTokens) => ({ ...NO_PARTS, cacheWriteTokens }));
/** A request that has none of these names has none at all. */
const spentBy = record({ user: text, tag: text, app: text }).filter((names) => Object.values(names).some(Boolean));
const settlement = record({
  requestId: text,
  outcome: fc.constantFrom('ok' as const, 'cancelled' as const, 'upstream_error' as const),
  usage: record({ promptTokens: whole, cachedTokens: whole, completionTokens: whole, parts: maybe(parts) }),
  source: fc.constantFrom('reported' as const, 'counted' as const),
  costNanos: nanos,
  completionId: maybe(text),
  firstByteMs: maybe(whole),
  price: maybe(text),
  served: maybe(record({ model: text, upstream: text, attempts: whole })),
  failure: maybe(
    record({
      reason: fc.constantFrom('http_status' as const, 'broken' as const),
      status: maybe(whole),
      message: text,
    }),
  ),
  spentBy: maybe(spentBy),
});
const growth = record({ requestId: text, outputTokens: whole, holdNanos: nanos });
const command: fc.Arbitrary<Command> = fc.oneof(
  record({ kind: fc.constant('admit' as const), request: admission }),
  record({ kind: fc.constant('settle' as const), settlement }),
  record({ kind: fc.constant('grow' as const), growth }),
  record({ kind: fc.constant('free_slot' as const), requestId: text }),
  record({ kind: fc.constant('identify' as const), keyHash: text }),
  record({ kind: fc.constant('snapshot' as const), keyIds: fc.array(text) }),
);

const figures = record({
  limitRequests: whole,
  remainingRequests: whole,
  resetRequestsS: whole,
  limitTokens: whole,
  remainingTokens: whole,
  resetTokensS: whole,
});
const GRANT = {
  granted: fc.constant(true),
  holdNanos: nanos,
  leftNanos: fc.option(nanos, { nil: undefined }),
};
const refused = { admitted: false as const, refusal: { reason: 'unknown_key' as const } };
const NOTHING_LEFT = { granted: false, refusal: { reason: 'insufficient_credit', keyName: 'app', balanceNanos: 0n } };
const ANSWERS: Readonly<Record<string, (figures: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>>> = {
  admit: (each) => fc.oneof(record({ admitted: fc.constant(true), figures: each }), fc.constant(refused)),
  settle: (each) => each,
  grow: () => fc.oneof(record(GRANT), fc.constant(NOTHING_LEFT)),
  free_slot: () => fc.constant(undefined),
  identify: (each) => record({ kind: fc.constant('unknown'), figures: each }),
  snapshot: () => fc.constant({ balanceNanos: 5n, heldNanos: 0n, busiest: [], keys: [] }),
};

describe('between threads', () => {
  test('a command arrives as it was sent', () => {
    fc.assert(
      fc.property(whole, command, (ticket, sent) => {
        const packed = structuredClone(packCommand(ticket, sent));
        assert.deepEqual([packed[0], unpackCommand(packed)], [ticket, sent]);
      }),
    );
  });

  test('an answer arrives as it was given', () => {
    const asked = command.chain((each) =>
      (ANSWERS[each.kind] as (typeof ANSWERS)[string])(figures).map((answer) => ({ each, answer: answer as Answer })),
    );
    fc.assert(
      fc.property(whole, asked, (ticket, { each, answer }) => {
        const packed = structuredClone(packReply(ticket, each, answer));
        assert.deepEqual([packed[0], unpackReply(packed)], [ticket, answer]);
      }),
    );
  });

  test('so does a reply that the ledger is unavailable', () => {
    fc.assert(
      fc.property(whole, command, text, (ticket, each, unavailable) => {
        const packed = structuredClone(packReply(ticket, each, { unavailable }));
        assert.deepEqual([packed[0], unpackReply(packed)], [ticket, { unavailable }]);
      }),
    );
  });
});
