/** Reads how much a model is to think, and the form of what it then answers. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import type { Format, Reasoning } from '../request.ts';
import { expectFields } from './messages-parts-reader.ts';

export function readReasoning(fields: Fields, findings: Findings): Reasoning {
  const thinking = findings.object(fields.thinking, 'thinking');
  const asked = thinking === undefined ? NO_THINKING : readThinking(thinking, findings);
  const config = findings.object(fields.output_config, 'output_config') ?? {};
  expectFields(['effort', 'format'], config, 'output_config', findings);
  const effort = readEffort(config.effort, findings) ?? asked.effort;
  return {
    effort: effort === undefined ? undefined : { value: effort, field: 'output_config.effort' },
    isShown: asked.isShown,
    offField: thinking?.type === 'disabled' ? 'thinking' : undefined,
  };
}

interface Thinking {
  readonly effort: string | undefined;
  readonly isShown: boolean;
}

const NO_THINKING: Thinking = { effort: undefined, isShown: false };

const DISPLAYS: readonly unknown[] = [undefined, null, 'summarized', 'omitted'];

/** Answers show thinking only to clients that ask for it: the others expect text in the first block. */
function readThinking(thinking: Fields, findings: Findings): Thinking {
  const { type, display, budget_tokens: budget } = thinking;
  expectFields(['type', 'display', 'budget_tokens'], thinking, 'thinking', findings);
  if (!DISPLAYS.includes(display)) findings.refuse('thinking.display', 'expected summarized or omitted');
  const isShown = display !== 'omitted';
  if (type === 'adaptive') return { effort: undefined, isShown };
  if (type === 'enabled') return { effort: effortOf(budget), isShown };
  if (type !== 'disabled') findings.refuse('thinking.type', 'expected adaptive, enabled or disabled');
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

function readEffort(effort: unknown, findings: Findings): string | undefined {
  if (effort === undefined || effort === null) return undefined;
  if (typeof effort === 'string' && EFFORTS.includes(effort)) return effort;
  findings.refuse('output_config.effort', `expected one of ${EFFORTS.join(', ')}`);
  return undefined;
}

/** Other dialects want a name for a schema. This one has none, and always keeps to the schema. */
export function readFormat(config: unknown, findings: Findings): Format {
  const where = 'output_config.format';
  const format = isObject(config) ? findings.object(config.format, where) : undefined;
  if (format === undefined) return { kind: 'text' };
  const { type, schema } = format;
  expectFields(['type', 'schema'], format, where, findings);
  if (type !== 'json_schema') findings.refuse(`${where}.type`, 'expected json_schema');
  if (!isObject(schema)) findings.refuse(`${where}.schema`, 'expected an object');
  return {
    kind: 'json_schema',
    definition: { name: 'answer', schema: isObject(schema) ? schema : {}, strict: true },
  };
}
