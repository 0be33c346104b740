/**
 * The maximum of hidden thinking in a request: the tokens that a host may bill for thinking beyond the visible part, or
 * undefined if the model decides.
 */
import { isObject } from '../core/json.ts';
import type { Fields } from './dialect.ts';

/** The request sets no bound on thinking. */
const UNBOUNDED = Number.POSITIVE_INFINITY;

/** Chat fields that switch thinking on and off. Hosts that hide thinking know only the first. */
const SWITCHES = ['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget'] as const;
/** Fields that may hold such switches. */
const HOLDERS = ['thinking_config', 'chat_template_kwargs', 'extra_body'] as const;
export const CHAT_THINKING_FIELDS: readonly string[] = [...SWITCHES, ...HOLDERS];

export function hiddenThinkingOfChat(fields: Fields): number | undefined {
  if (!CHAT_THINKING_FIELDS.every((name) => isOff(fields[name] ?? false))) return UNBOUNDED;
  // Hosts ignore switches that they do not know.
  return fields.reasoning_effort === 'none' ? 0 : undefined;
}

/** Reads `reasoning` of the responses dialect. Hosts show at most a summary of it. */
export function hiddenThinkingOfResponses({ reasoning }: Fields): number | undefined {
  if (reasoning === undefined || reasoning === null) return undefined;
  return isObject(reasoning) && reasoning.effort === 'none' && isPlain(reasoning, ['effort', 'summary'])
    ? 0
    : UNBOUNDED;
}

/** The only fields of a bounded `thinking`. */
const BOUNDED = ['type', 'budget_tokens', 'display', 'block_binding'];

/**
 * Reads `thinking` of the messages dialect. Hosts summarize or omit it. An `effort` without `thinking` may also make a
 * model think.
 */
export function hiddenThinkingOfMessages({ thinking, output_config: output }: Fields): number | undefined {
  if (thinking === undefined || thinking === null) {
    return isObject(output) && (output.effort ?? undefined) !== undefined ? UNBOUNDED : undefined;
  }
  if (!isObject(thinking) || !isPlain(thinking, BOUNDED)) return UNBOUNDED;
  const { type, budget_tokens: budget } = thinking;
  if (type === 'disabled') return 0;
  return type === 'enabled' && Number.isSafeInteger(budget) && (budget as number) >= 0 ? (budget as number) : UNBOUNDED;
}

/** The only fields of a bounded `thinkingConfig`. Hosts bill the thinking itself, not the visible summary. */
const BOUNDED_BY_GOOGLE = ['thinkingBudget', 'includeThoughts'];

/** Reads `thinkingConfig` of Google's dialect. With a budget of -1 the model decides. */
export function hiddenThinkingOfGemini(config: unknown): number | undefined {
  if (!isObject(config)) return undefined;
  const { thinkingBudget: budget } = config;
  if (!isPlain(config, BOUNDED_BY_GOOGLE)) return UNBOUNDED;
  if (budget === undefined || budget === null) return undefined;
  return Number.isSafeInteger(budget) && (budget as number) >= 0 ? (budget as number) : UNBOUNDED;
}

/** Whether an object has only these fields. Hosts may read other spellings and further fields. */
function isPlain(value: Fields, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name));
}

const OFF: readonly unknown[] = [false, 0, 'none', 'disabled'];

/** MAX_JSON_DEPTH bounds the recursion. */
function isOff(value: unknown): boolean {
  if (!isObject(value)) return OFF.includes(value);
  const members = Object.values(value);
  return members.length > 0 && members.every(isOff);
}
