/**
 * What a request says of how much its model may think: the most tokens that a host may bill for thinking beyond what it
 * shows of it, or undefined where that is up to the model.
 */
import { isObject } from '../core/json.ts';
import type { Fields } from './dialect.ts';

/** Thinking without a bound of its own. */
const UNBOUNDED = Number.POSITIVE_INFINITY;

/** The fields of chat by which hosts switch thinking on and off. Only the first is known to those that hide it. */
const SWITCHES = ['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget'] as const;
/** Fields that may hold such switches. */
const HOLDERS = ['thinking_config', 'chat_template_kwargs', 'extra_body'] as const;
export const CHAT_THINKING_FIELDS: readonly string[] = [...SWITCHES, ...HOLDERS];

export function hiddenThinkingOfChat(fields: Fields): number | undefined {
  if (!CHAT_THINKING_FIELDS.every((name) => isOff(fields[name] ?? false))) return UNBOUNDED;
  // A host that does not know another switch goes on as it likes.
  return fields.reasoning_effort === 'none' ? 0 : undefined;
}

/** `reasoning` of responses. At most a summary of it is shown. */
export function hiddenThinkingOfResponses({ reasoning }: Fields): number | undefined {
  if (reasoning === undefined || reasoning === null) return undefined;
  return isObject(reasoning) && reasoning.effort === 'none' && isPlain(reasoning, ['effort', 'summary'])
    ? 0
    : UNBOUNDED;
}

/** The fields of a thinking that is bounded. */
const BOUNDED = ['type', 'budget_tokens', 'display', 'block_binding'];

/** `thinking` of messages. It is summed up, or left out. An effort by itself may have a model think, too. */
export function hiddenThinkingOfMessages({ thinking, output_config: output }: Fields): number | undefined {
  if (thinking === undefined || thinking === null) {
    return isObject(output) && (output.effort ?? undefined) !== undefined ? UNBOUNDED : undefined;
  }
  if (!isObject(thinking) || !isPlain(thinking, BOUNDED)) return UNBOUNDED;
  const { type, budget_tokens: budget } = thinking;
  if (type === 'disabled') return 0;
  return type === 'enabled' && Number.isSafeInteger(budget) && (budget as number) >= 0 ? (budget as number) : UNBOUNDED;
}

/** The fields of a thinking of Google's that is bounded. Its summaries are not what is billed. */
const BOUNDED_BY_GOOGLE = ['thinkingBudget', 'includeThoughts'];

/** `thinkingConfig` of Google's dialect. A budget of -1 leaves it to the model. */
export function hiddenThinkingOfGemini(config: unknown): number | undefined {
  if (!isObject(config)) return undefined;
  const { thinkingBudget: budget } = config;
  if (!isPlain(config, BOUNDED_BY_GOOGLE)) return UNBOUNDED;
  if (budget === undefined || budget === null) return undefined;
  return Number.isSafeInteger(budget) && (budget as number) >= 0 ? (budget as number) : UNBOUNDED;
}

/** Hosts may read names in any case, and others than these. */
function isPlain(value: Fields, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name));
}

const OFF: readonly unknown[] = [false, 0, 'none', 'disabled'];

/** The recursion is bounded by MAX_JSON_DEPTH. */
function isOff(value: unknown): boolean {
  if (!isObject(value)) return OFF.includes(value);
  const members = Object.values(value);
  return members.length > 0 && members.every(isOff);
}
