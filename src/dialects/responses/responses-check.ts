/** Validates a responses request, and extracts the fields that the gateway acts on. */
import { isObject } from '../../core/json.ts';
import type { JsonBody } from '../../wire/body.ts';
import { countOf } from '../answer.ts';
import { longestLifetimeOfOpenAi } from '../cache-lifetime.ts';
import {
  type Check,
  type Checks,
  caseVariant,
  firstProblem,
  flag,
  foreignMaxima,
  number,
  refused,
  serviceTier,
  text,
  wholeNumber,
} from '../checks.ts';
import type { Checked, Dialect, Fields } from '../dialect.ts';
import { askedOf, MODALITIES_CHECK } from '../modalities.ts';
import { textRequest } from '../text-request.ts';
import { hiddenThinkingOfResponses } from '../thinking.ts';
import { isReference, stateOf } from './responses-state.ts';
import { hostToolsOf } from './responses-tools.ts';

export function checkResponses(dialect: Dialect, body: JsonBody, model: string): Checked {
  const { fields } = body;
  const names = body.members.map(({ key }) => key);
  const problem = caseVariant('', names, ACTED_ON) ?? firstProblem(fields, CHECKS);
  if (problem !== undefined) return { ok: false, problem };
  const maximum = (fields.max_output_tokens ?? undefined) as number | undefined;
  return {
    ok: true,
    request: textRequest(dialect, body, model, maximum, {
      asked: askedOf(fields),
      serviceTier: (fields.service_tier ?? undefined) as string | undefined,
      hiddenThinking: hiddenThinkingOfResponses(fields),
      cacheWrite: longestLifetimeOfOpenAi(fields),
      summarizesAbove: summarizesAbove(fields),
      hostTools: hostToolsOf(fields),
      state: stateOf(body),
    }),
  };
}

const STATE = 'the provider would keep it for all keys of this gateway; send the whole conversation in input instead';

const CHECKS: Checks = Object.entries<Check>({
  input: checkInput,
  instructions: text('instructions'),
  max_output_tokens: wholeNumber('max_output_tokens', 1),
  ...Object.fromEntries(foreignMaxima('max_output_tokens')),
  stream: flag('stream'),
  store: flag('store'),
  background: (value) => (value === undefined || value === false ? undefined : `background: expected false: ${STATE}`),
  previous_response_id: text('previous_response_id'),
  conversation: refused('conversation', STATE),
  prompt: refused('prompt', 'prompts at the provider belong to the operator; send the text in instructions instead'),
  temperature: number('temperature', 0, 2),
  top_p: number('top_p', 0, 1),
  tools: checkTools,
  max_tool_calls: wholeNumber('max_tool_calls', 0),
  service_tier: serviceTier,
  modalities: MODALITIES_CHECK,
  multi_agent: (value) =>
    value === undefined || (isObject(value) && value.enabled === false)
      ? undefined
      : 'multi_agent: agents without number would each have an input of their own; leave it out',
  prompt_cache_options: (value) =>
    isObject(value) && typeof value.comparison_response_id === 'string'
      ? `prompt_cache_options.comparison_response_id: ${STATE}`
      : undefined,
});

const ACTED_ON: ReadonlySet<string> = new Set([
  ...['model', ...CHECKS.map(([name]) => name)],
  ...['reasoning', 'truncation', 'context_management'],
]);

function checkInput(value: unknown): string | undefined {
  if (typeof value === 'string') return undefined;
  if (!Array.isArray(value) || value.length === 0) return 'input: expected a string or an array of at least one item';
  for (const [index, item] of value.entries()) {
    const where = `input[${index}]`;
    const problem = isObject(item) ? itemProblem(item, where) : `${where}: expected an object`;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const ITEM_FIELDS: ReadonlySet<string> = new Set(['type', 'id', 'role', 'content', 'output', 'tools']);

function itemProblem(item: Fields, where: string): string | undefined {
  const variant = caseVariant(`${where}.`, Object.keys(item), ITEM_FIELDS);
  if (variant !== undefined) return variant;
  return isReference(item) && typeof item.id !== 'string' ? `${where}.id: expected a string` : undefined;
}

function checkTools(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) return 'tools: expected an array';
  const invalid = value.findIndex((tool) => !isObject(tool) || typeof tool.type !== 'string');
  return invalid < 0 ? undefined : `tools[${invalid}]: expected an object with a type`;
}
/** Returns the lowest threshold in `context_management`; an entry without one uses the host's own, so it counts as 0. */
function summarizesAbove({ context_management: entries }: Fields): number | undefined {
  if (!Array.isArray(entries) || entries.length === 0) return undefined;
  return Math.min(...entries.map((entry) => (isObject(entry) && countOf(entry.compact_threshold)) || 0));
}
