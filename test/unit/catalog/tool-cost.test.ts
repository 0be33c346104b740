/** What a call of a host's tool can cost by the fields of the tool, and which fields have no price. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectedCost, mayBeFree } from '../../../src/catalog/cost.ts';
import { traitsOf } from '../../../src/catalog/model-traits.ts';
import { dearestCall, foundByCalls, foundTokens, toolProblem, toolsFor } from '../../../src/catalog/tool-cost.ts';
import type { ToolSetting } from '../../../src/core/host-tools.ts';
import { NO_MEDIA } from '../../../src/core/modalities.ts';
import type { ToolPrice, ToolVariant } from '../../../src/core/model-terms.ts';
import { flatPrices, testModel } from '../../support/models.ts';
import { hostTool, setting, toolPrice } from '../../support/tools.ts';

const variant = (fields: Record<string, string>, call: bigint, tokens = 0): ToolVariant => ({
  fields: new Map(Object.entries(fields)),
  call,
  tokens,
});
const SHELL = toolPrice(3n, {
  tokens: 5,
  variants: [variant({ memory_limit: '4g' }, 12n), variant({ memory_limit: '1g', gpu: 'true' }, 90n)],
});
const IMAGE = toolPrice(6n, {
  variants: [
    variant({ size: 'small', quality: 'low' }, 1n),
    variant({ size: 'small', quality: 'high' }, 16n),
    variant({ size: 'large', quality: 'high' }, 25n, 70),
    variant({ output_format: 'gif' }, 40n),
  ],
});
const OPEN = [setting('size'), setting('quality'), setting('output_format', 'png', true)];
const set = (...given: readonly ToolSetting[]) => [
  ...given,
  ...OPEN.filter(({ field }) => !given.some((each) => each.field === field)),
];
const MEMORY = setting('memory_limit', '1g', true);

type Expected = readonly [call: bigint, tokens: number, text: string] | string;
const ROWS: readonly (readonly [what: string, price: ToolPrice, settings: readonly ToolSetting[], Expected])[] = [
  ['no settings have the price itself', SHELL, [], [3n, 5, 't']],
  ['so do usual ones', SHELL, [MEMORY], [3n, 5, 't']],
  ['a variant has its own', SHELL, [setting('memory_limit', '4g')], [12n, 0, 't(memory_limit:4g)']],
  ['of all fields together', SHELL, [MEMORY, setting('gpu', 'true')], [90n, 0, 't(gpu:true,memory_limit:1g)']],
  ['a value without one is refused', SHELL, [setting('memory_limit', '64g')], 'memory_limit: … memory_limit 64g'],
  ['a field without one is refused', SHELL, [MEMORY, setting('disk', 'set')], 'disk: … disk set'],
  [
    'fields that no variant has together are refused',
    SHELL,
    [setting('memory_limit', '4g'), setting('gpu', 'true')],
    'gpu: … gpu true',
  ],
  ['what the host chooses has the dearest', IMAGE, set(), [25n, 70, 't(quality:high,size:large)']],
  ['among those that are left', IMAGE, set(setting('size', 'small')), [16n, 0, 't(quality:high,size:small)']],
  [
    'all chosen, the exact one',
    IMAGE,
    set(setting('size', 'small'), setting('quality', 'low')),
    [1n, 0, 't(quality:low,size:small)'],
  ],
  ['a size that has none is refused', IMAGE, set(setting('size', 'huge')), 'size: … size huge'],
  [
    'a usual value that a variant has is that variant',
    toolPrice(2n, { variants: [variant({ n: 'low' }, 1n)] }),
    [setting('n', 'low', true)],
    [1n, 0, 't(n:low)'],
  ],
  ['what is free is free with any setting', toolPrice(0n), [setting('new', 'x')], [0n, 0, 't']],
  ['what brings in input is not', toolPrice(0n, { tokens: 1 }), [setting('new', 'x')], 'new: … new x'],
];

describe('the price of a call', () => {
  for (const [what, price, settings, expected] of ROWS) {
    test(what, () => {
      const prices = { ...flatPrices(1n), tools: new Map([['t', price]]) };
      const tool = hostTool('t', { settings });
      const problem = toolProblem(prices, [tool]);
      if (typeof expected === 'string') {
        const [field, end] = expected.split(': … ') as [string, string];
        assert.ok(problem?.startsWith(`tools[0].${field}: this model has no price for t with ${end};`), `${problem}`);
      } else {
        assert.equal(problem, undefined);
        const { call, tokens, text } = dearestCall(prices, [tool]);
        assert.deepEqual([call, tokens, text], expected);
      }
    });
  }

  test('of a tool that has none is refused', () => {
    assert.match(
      toolProblem(flatPrices(1n), [hostTool('t')]) ?? '',
      /^tools\[0\]: this model has no price for a call of t/,
    );
  });

  test('is known of a hundred tools at most', () => {
    const prices = { ...flatPrices(1n), tools: new Map([['t', toolPrice(1n)]]) };
    const tools = Array.from({ length: 101 }, (_, index) => hostTool('t', { where: `tools[${index}]` }));
    assert.equal(toolProblem(prices, tools.slice(1)), undefined);
    assert.match(toolProblem(prices, tools) ?? '', /^tools\[100\]: expected at most 100 of the provider's own tools/);
  });

  const REPORTED: readonly (readonly [reported: Record<string, string>, call: bigint])[] = [
    [{ size: 'small', quality: 'low' }, 1n],
    [{ size: 'small' }, 16n],
    [{ output_format: 'png', quality: 'low' }, 1n],
    // No price is for that: it may have any.
    [{ size: 'huge', quality: 'low' }, 40n],
    [{ background: 'red' }, 25n],
  ];
  for (const [reported, call] of REPORTED) {
    test(`is that of what the host says: ${JSON.stringify(reported)}`, () => {
      const prices = { ...flatPrices(1n), tools: new Map([['t', IMAGE]]) };
      assert.equal(dearestCall(prices, [hostTool('t', { settings: OPEN })], reported).call, call);
    });
  }

  test('that may be of two tools is that of the dearer', () => {
    const prices = {
      ...flatPrices(1n),
      tools: new Map([
        ['a', toolPrice(1n, { tokens: 9 })],
        ['b', toolPrice(2n)],
      ]),
    };
    const { call, tokens, text } = dearestCall(prices, [hostTool('a'), hostTool('b')]);
    assert.deepEqual([call, tokens, text], [2n, 9, 'b']);
  });

  test('brings in as much as the request allows', () => {
    const prices = { ...flatPrices(1n), tools: new Map([['a', toolPrice(1n, { tokens: 9 })]]) };
    assert.equal(dearestCall(prices, [hostTool('a', { tokens: 50 })]).tokens, 50);
  });
});

describe('the input that calls bring in', () => {
  const prices = {
    ...flatPrices(1n),
    tools: new Map([
      ['page', toolPrice(0n, { tokens: 100, mostTokens: 100 })],
      ['search', toolPrice(0n, { tokens: 10, mostTokens: 25 })],
      ['other', toolPrice(0n, { tokens: 10 })],
    ]),
  };
  const tools = ['page', 'search', 'other'].map((name) => hostTool(name, { calls: 20 }));
  const one = (use: (typeof tools)[number]) => ({ count: 1, of: [use], reported: {} });

  test('is held for all calls of a tool up to the most of a request', () => {
    assert.equal(foundTokens(prices, tools), 100 + 25 + 200);
    assert.equal(foundTokens(prices, [hostTool('search', { calls: 2 })]), 20);
  });

  test('is counted in the same way, however the calls are shown', () => {
    const calls = tools.flatMap((tool) => Array.from({ length: 5 }, () => one(tool)));
    assert.equal(foundByCalls(prices, calls), 100 + 25 + 50);
    assert.equal(foundByCalls(prices, []), 0);
  });

  test('has no price where it may fill a context window that is not known', () => {
    const lacking = { ...prices, tools: new Map([['page', toolPrice(0n, { lacksWindow: true })]]) };
    assert.match(toolProblem(lacking, [hostTool('page')]) ?? '', /^tools\[0\]: page may fill the context window/);
  });
});

describe('the maximum of calls in a price', () => {
  const model = testModel('p/m', { tools: new Map([['t', toolPrice(1n, { maxCalls: 7 })]]) });
  const callsOf = (tool: ReturnType<typeof hostTool>) => toolsFor(model, model, [tool]).map(({ calls }) => calls);

  test('counts where a format has none', () => {
    assert.deepEqual(callsOf(hostTool('t', { calls: 50, isUnbounded: true })), [7]);
    assert.deepEqual(callsOf(hostTool('t', { calls: 1, isUnbounded: true })), [7]);
  });

  test('changes no maximum of a request', () => {
    assert.deepEqual(callsOf(hostTool('t', { calls: 3 })), [3]);
    assert.deepEqual(callsOf(hostTool('u', { calls: 3, isUnbounded: true })), [3]);
  });

  test('is that of the service tier', () => {
    const tier = { ...flatPrices(1n), tools: new Map([['t', toolPrice(1n, { maxCalls: 9 })]]) };
    assert.equal(toolsFor(model, tier, [hostTool('t', { isUnbounded: true })])[0]?.calls, 9);
  });

  test('counts for a tool that a model runs unasked', () => {
    const sonar = testModel('p/sonar', { tools: new Map([['web_search', toolPrice(1n, { maxCalls: 4 })]]) });
    assert.equal(toolsFor(sonar, sonar, [])[0]?.calls, 4);
  });
});

test('the input is held ten times at most for calls without a maximum, which a host makes many of in one step', () => {
  const prices = { ...flatPrices(1_000_000n), tools: new Map([['t', toolPrice(0n)]]) };
  const hold = (more: Parameters<typeof hostTool>[1]) =>
    expectedCost(prices, 5, 0, { ...NO_MEDIA, cacheWrite: undefined, hostTools: [hostTool('t', more)] });
  assert.equal(hold({ calls: 50, isUnbounded: true }), 5n + 50n);
  assert.equal(hold({ calls: 4, isUnbounded: true }), 5n + 20n);
  assert.equal(hold({ calls: 50 }), 5n + 250n);
});

/** The names of models at their hosts, and the tools that they run unasked. */
const UNASKED: readonly (readonly [upstream: string, tools: readonly string[]])[] = [
  ['gpt-4o-search-preview', ['web_search']],
  ['openai/gpt-4o-mini-search-preview-2025-03-11', ['web_search']],
  ['gpt-5-search-api', ['web_search']],
  ['sonar', ['web_search']],
  ['perplexity/sonar-pro', ['web_search']],
  ['perplexity/sonar-deep-research', ['deep_research']],
  ['openai/gpt-5.2:online', ['web_search']],
  ['groq/compound', ['compound']],
  ['compound-beta-mini', ['compound']],
  ['gpt-5.4', []],
  ['research-model', []],
  ['sonarqube-helper', []],
];

describe('a model that runs tools unasked', () => {
  for (const [upstream, names] of UNASKED) {
    test(`${upstream}: ${names.join(', ') || 'none'}`, () => {
      assert.deepEqual(
        traitsOf({ upstream }).tools.map(({ name }) => name),
        names,
      );
    });
  }

  test('is refused as long as that has no price', () => {
    const model = testModel('p/groq/compound');
    assert.match(
      toolProblem(model, toolsFor(model, model, [])) ?? '',
      /^model: this model has no price for a call of compound/,
    );
  });

  test('runs no second tool where a request asks for the same', () => {
    const asked = [hostTool('web_search', { where: 'web_search_options' })];
    assert.deepEqual(toolsFor(testModel('p/sonar'), testModel('p/sonar'), asked), asked);
  });

  test('is not free because its tokens are', () => {
    const tools = new Map([['web_search', toolPrice(5n)]]);
    assert.equal(mayBeFree(testModel('p/sonar', { tools })), false);
    assert.equal(mayBeFree(testModel('p/other', { tools })), true);
  });
});
