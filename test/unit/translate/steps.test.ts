/** Long streams of hosts that leave much open: an event takes as many steps at the end as at the beginning. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { blockStart } from './messages-host.ts';
import { CLIENTS, CONTEXT, type Speaker, translationFor } from './recordings.ts';

const EVENTS = 2_000;
/** Far more than reading and writing one event takes, far fewer than there are events. */
const MAX_STEPS = 100;

const chunk = (call: Fields, index: number) => ({
  id: 'chatcmpl-1',
  choices: [{ index: 0, delta: { tool_calls: [{ index, ...call }] }, finish_reason: 'tool_calls' }],
});
/** The event at each position. */
const STREAMS: readonly (readonly [what: string, host: Speaker, event: (index: number) => Fields])[] = [
  ['calls that nothing ends', 'messages', (index) => blockStart(index, { type: 'tool_use', name: 'f', input: {} })],
  [
    'whole calls that nothing ends',
    'messages',
    (index) => blockStart(index, { type: 'tool_use', name: 'f', input: { a: 1 } }),
  ],
  ['thinking that nothing ends', 'messages', (index) => blockStart(index, { type: 'thinking', thinking: 'Hm.' })],
  ['calls, each with an end', 'chat', (index) => chunk({ function: { name: 'f', arguments: '{}' } }, index)],
  ['calls without a name, each with an end', 'chat', (index) => chunk({ function: { arguments: '{}' } }, index)],
  ['calls that say nothing, each with an end', 'chat', (index) => chunk({}, index)],
];

/** The iterators of arrays, maps and sets. */
const ITERATORS = [[].values(), new Map().values(), new Set().values()].map(
  (iterator) => Object.getPrototypeOf(iterator) as Iterator<unknown>,
);

/** How many entries of arrays, maps and sets are visited. */
function stepsOf(work: () => void): number {
  let steps = 0;
  const originals = ITERATORS.map((iterator) => iterator.next);
  for (let at = 0; at < ITERATORS.length; at++) {
    const original = originals[at] as Iterator<unknown>['next'];
    (ITERATORS[at] as Iterator<unknown>).next = function next() {
      steps++;
      return original.call(this);
    };
  }
  try {
    work();
  } finally {
    for (let at = 0; at < ITERATORS.length; at++) Object.assign(ITERATORS[at] as object, { next: originals[at] });
  }
  return steps;
}

describe('no event takes more steps for what came before it:', () => {
  for (const [what, host, event] of STREAMS) {
    for (const client of CLIENTS[host].filter((each) => each !== host)) {
      test(`${what}, for ${client}`, () => {
        const stream = translationFor(client, host)?.stream(CONTEXT);
        assert.ok(stream !== undefined);
        const steps = stepsOf(() => {
          for (let index = 0; index < EVENTS; index++) stream.push(event(index));
        });
        assert.ok(steps < EVENTS * MAX_STEPS, `${steps} steps for ${EVENTS} events`);
      });
    }
  }
});

test('steps are counted', () => {
  const lists = [[1], new Map([[1, 2]]), new Set([1])];
  const steps = stepsOf(() => {
    for (const list of lists) for (const _ of list);
  });
  assert.equal(steps, 4 + 3 * 2);
});
