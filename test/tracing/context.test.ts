/** W3C Trace Context: what is taken from clients, what is passed on, and who decides what is recorded. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contextOf, headersOf, newContext, newSpanId } from '../../src/tracing/context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const VALID = `00-${TRACE}-${SPAN}-01`;

describe('a traceparent', () => {
  for (const [title, header, isSampled] of [
    ['that is sampled', VALID, true],
    ['that is not', `00-${TRACE}-${SPAN}-00`, false],
    ['with flags of later versions', `00-${TRACE}-${SPAN}-03`, true],
    ['of a later version, with more fields', `01-${TRACE}-${SPAN}-01-what`, true],
  ] as const) {
    test(`${title} is taken`, () => {
      assert.deepEqual(contextOf(header, undefined), { traceId: TRACE, parentId: SPAN, isSampled, state: undefined });
    });
  }

  for (const [title, header] of [
    ['none', undefined],
    ['of version ff', `ff-${TRACE}-${SPAN}-01`],
    ['of version 00 with more fields', `${VALID}-what`],
    ['with no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['with no parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['in capitals', VALID.toUpperCase()],
    ['that is too short', VALID.slice(0, -1)],
    ['that came twice', `${VALID}, ${VALID}`],
  ] as const) {
    test(`${title} is no context`, () => assert.equal(contextOf(header, 'a=1'), undefined));
  }
});

describe('a tracestate', () => {
  const stateOf = (state: string) => contextOf(VALID, state)?.state;

  test('is kept as it is', () => {
    for (const state of ['a=1', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 'a@b=1, c=2', 'a=1,,b=2']) {
      assert.equal(stateOf(state), state);
    }
  });

  test('is dropped where receivers would have to, and the trace goes on', () => {
    const many = Array.from({ length: 33 }, (_, i) => `k${i}=1`).join();
    for (const state of ['', 'a', 'A=1', 'a=1=2', `a=${'x'.repeat(600)}`, many, 'a=ü']) {
      assert.equal(stateOf(state), undefined, state);
      assert.equal(contextOf(VALID, state)?.traceId, TRACE);
    }
  });
});

describe('a request without a context', () => {
  test('is recorded by the share of its trace id', () => {
    const [low, high] = [`${'f'.repeat(19)}${'0'.repeat(13)}`, 'f'.repeat(32)];
    assert.deepEqual(
      [low, high].flatMap((traceId) => [0, 0.5, 1].map((ratio) => newContext(ratio, traceId).isSampled)),
      [false, true, true, false, false, true],
    );
  });

  test('gets a trace of its own', () => {
    const traces = new Set(Array.from({ length: 1_000 }, () => newContext(1).traceId));
    assert.equal(traces.size, 1_000);
    for (const trace of traces) assert.match(trace, /^[0-9a-f]{32}$/);
    assert.match(newSpanId(), /^[0-9a-f]{16}$/);
  });
});

test('an upstream gets the trace, the span that asks it, and the state', () => {
  const context = contextOf(VALID, 'a=1');
  assert.ok(context !== undefined);
  const id = '00f067aa0ba902b7';
  assert.deepEqual(headersOf(context, id), { traceparent: `00-${TRACE}-${id}-01`, tracestate: 'a=1' });
  assert.deepEqual(headersOf({ ...context, isSampled: false, state: undefined }, id), {
    traceparent: `00-${TRACE}-${id}-00`,
  });
});
