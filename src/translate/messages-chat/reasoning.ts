/** Translates how much a model is to think, and the form of what it then answers. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Notes } from './notes.ts';

/** Fields of the chat-completions request, and whether the client gets to see thinking. */
export interface Reasoning {
  readonly reasoning_effort: string | undefined;
  readonly response_format: Fields | undefined;
  readonly showsThinking: boolean;
}

export function translateReasoning(fields: Fields, notes: Notes): Reasoning {
  const thinking = notes.object(fields.thinking, 'thinking');
  const asked = thinking === undefined ? NO_THINKING : readThinking(thinking, notes);
  const config = notes.object(fields.output_config, 'output_config') ?? {};
  notes.allow(['effort', 'format'], config, 'output_config');
  const effort = readEffort(config.effort, notes);
  const isDisabled = thinking?.type === 'disabled';
  if (isDisabled && effort !== undefined) notes.ignore('output_config.effort');
  return {
    reasoning_effort: isDisabled ? undefined : (effort ?? asked.effort),
    response_format: translateFormat(config.format, notes),
    showsThinking: asked.isShown,
  };
}

interface Thinking {
  readonly effort: string | undefined;
  readonly isShown: boolean;
}

const NO_THINKING: Thinking = { effort: undefined, isShown: false };

const DISPLAYS: readonly unknown[] = [undefined, null, 'summarized', 'omitted'];

/** Answers show thinking only to clients that ask for it: the others expect text in the first block. */
function readThinking(thinking: Fields, notes: Notes): Thinking {
  const { type, display, budget_tokens: budget } = thinking;
  notes.allow(['type', 'display', 'budget_tokens'], thinking, 'thinking');
  if (!DISPLAYS.includes(display)) notes.refuse('thinking.display', 'expected summarized or omitted');
  const isShown = display !== 'omitted';
  if (type === 'adaptive') return { effort: undefined, isShown };
  if (type === 'enabled') return { effort: effortOf(budget), isShown };
  // Few hosts can be told, and those that cannot refuse the attempt.
  if (type === 'disabled') notes.ignore('thinking');
  else notes.refuse('thinking.type', 'expected adaptive, enabled or disabled');
  return NO_THINKING;
}

/** The largest budgets, in tokens, that are a low and a medium effort. */
const LOW_BUDGET = 4_096;
const MEDIUM_BUDGET = 16_384;

function effortOf(budget: unknown): string | undefined {
  if (typeof budget !== 'number') return undefined;
  if (budget <= LOW_BUDGET) return 'low';
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high';
}

/** Both dialects have the same words for these. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];

function readEffort(effort: unknown, notes: Notes): string | undefined {
  if (effort === undefined || effort === null) return undefined;
  if (typeof effort === 'string' && EFFORTS.includes(effort)) return effort;
  notes.refuse('output_config.effort', `expected one of ${EFFORTS.join(', ')}`);
  return undefined;
}

/** Chat completions want a name for a schema. The messages dialect has none, and always keeps to the schema. */
function translateFormat(value: unknown, notes: Notes): Fields | undefined {
  const format = notes.object(value, 'output_config.format');
  if (format === undefined) return undefined;
  const { type, schema } = format;
  notes.allow(['type', 'schema'], format, 'output_config.format');
  if (type !== 'json_schema') notes.refuse('output_config.format.type', 'expected json_schema');
  if (!isObject(schema)) notes.refuse('output_config.format.schema', 'expected an object');
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
}
