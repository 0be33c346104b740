/** Which calls of the host's tools a request has made, which of them are billed, and which its hold covers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { billedCalls, type HostTool, type ToolCall } from '../../../src/core/host-tools.ts';
import { NO_PARTS, NO_USAGE } from '../../../src/core/usage.ts';
import { callsMade, withCalls } from '../../../src/proxy/tool-calls.ts';
import { hostTool, toolCall } from '../../support/tools.ts';

const search = hostTool('web_search', { calls: 10 });
const preview = hostTool('web_search_preview', { calledAs: 'web_search' });
const unseen = hostTool('oracle', { calls: 4, isReported: false });
const places = hostTool('places', { calls: 50, isReported: false, callsUnlessShown: 1 });
const calls = (name: string, count: number) => Array.from({ length: count }, (_, index) => toolCall(name, `${index}`));

type Counts = Readonly<Record<string, number>>;
const ROWS: readonly (readonly [
  what: string,
  tools: HostTool[],
  seen: ToolCall[],
  reported: Counts,
  charged: Counts,
])[] = [
  ['nothing', [search], [], {}, {}],
  ['what was seen', [search], calls('web_search', 2), {}, { web_search: 2 }],
  ['what the host reports beyond', [search], calls('web_search', 2), { web_search: 5 }, { web_search: 5 }],
  ['what was seen beyond the report', [search], calls('web_search', 2), { web_search: 1 }, { web_search: 2 }],
  ['a tool that was not asked for', [], calls('advisor', 1), {}, { advisor: 1 }],
  ['calls that have another name than their tool', [preview], calls('web_search', 1), {}, { web_search_preview: 1 }],
  ['calls of two tools', [search, preview], calls('web_search', 1), {}, { 'web_search or web_search_preview': 1 }],
  ['all that may be, of a tool whose calls are never seen', [unseen], [], {}, { oracle: 4 }],
  ['of that, what the host reports', [unseen], [], { oracle: 1 }, { oracle: 1 }],
  ['none, if the host reports that', [unseen], [], { oracle: 0 }, {}],
  ['fewer, of a tool whose calls most answers show', [places], [], {}, { places: 1 }],
  ['what was seen of it', [places], calls('places', 30), {}, { places: 30 }],
  ['of that, what was seen after all', [unseen], calls('oracle', 2), {}, { oracle: 2 }],
];

describe('made is', () => {
  for (const [what, tools, seen, reported, expected] of ROWS) {
    test(what, () => {
      const counts: Record<string, number> = {};
      const usage = { ...NO_USAGE, parts: { ...NO_PARTS, toolCalls: reported } };
      for (const { of, count } of callsMade(tools, seen, usage)) {
        const name = of.map((tool) => tool.name).join(' or ');
        counts[name] = (counts[name] ?? 0) + count;
      }
      assert.deepEqual(counts, expected);
    });
  }
});

test('calls in one container are billed once, and what is no call is not', () => {
  const within = (name: string, id: string, container: string) => toolCall(name, id, { container });
  const seen = [
    within('shell', 'a', 'c1'),
    within('shell', 'b', 'c1'),
    within('shell', 'c', 'c2'),
    within('code_interpreter', 'd', 'c1'),
    toolCall('web_search', 'e'),
    toolCall('web_search', 'f', { isBilled: false }),
  ];
  assert.deepEqual(
    billedCalls(seen).map(({ id }) => id),
    ['a', 'c', 'd', 'e'],
  );
});

describe('the calls that a hold covers', () => {
  test('are enough as long as there are no more', () => {
    const tools = [search, preview];
    assert.equal(withCalls(tools, calls('web_search', 11)), tools);
    assert.equal(withCalls(tools, []), tools);
  });

  test('grow by those that are beyond it, also of a tool that was not asked for', () => {
    const seen = [...calls('web_search', 13), ...calls('advisor', 2)];
    assert.deepEqual(
      withCalls([search, preview], seen).map(({ name, calls }) => [name, calls]),
      [
        ['web_search', 10],
        ['web_search_preview', 1],
        ['web_search', 2],
        ['advisor', 2],
      ],
    );
  });
});
