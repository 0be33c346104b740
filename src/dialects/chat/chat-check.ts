/** Validates a chat-completions request, and extracts the fields that the gateway acts on. */

import { isObject } from '../../core/json.ts';
import type { JsonBody } from '../../wire/body.ts';
import { estimateTokens } from '../../wire/token-estimate.ts';
import { audioBytesPerToken } from '../audio-output.ts';
import { longestLifetimeOfOpenAi } from '../cache-lifetime.ts';
import {
  type Check,
  type Checks,
  caseVariant,
  firstProblem,
  flag,
  foreignMaxima,
  number,
  serviceTier,
  wholeNumber,
} from '../checks.ts';
import type { Dialect, Fields, ModelRequest } from '../dialect.ts';
import { askedOf, MODALITIES_CHECK } from '../modalities.ts';
import { textRequest } from '../text-request.ts';
import { CHAT_THINKING_FIELDS, hiddenThinkingOfChat } from '../thinking.ts';
import { hostToolsOf, SWITCH_NAMES } from './chat-tools.ts';

export interface ChatRequest extends ModelRequest {
  readonly messages: readonly Fields[];
  readonly tools: readonly unknown[];
}

/**
 * Validates every field that the gateway acts on, and reports the first problem in the order of
 * `CHECKS`.
 */
export function checkChat(
  dialect: Dialect,
  body: JsonBody,
  model: string,
): { readonly ok: true; readonly request: ChatRequest } | { readonly ok: false; readonly problem: string } {
  const { fields } = body;
  const variant = findVariant(body);
  if (variant !== undefined) return { ok: false, problem: variant };
  const problem = firstProblem(fields, CHECKS) ?? longWriteProblem(fields);
  if (problem !== undefined) return { ok: false, problem };
  const options = fields.stream_options as Fields | null | undefined;
  const maxima = [fields.max_completion_tokens, fields.max_tokens].filter((value) => typeof value === 'number');
  return {
    ok: true,
    request: textRequest(dialect, body, model, maxima.length === 0 ? undefined : Math.max(...maxima), {
      messages: fields.messages as readonly Fields[],
      tools: (fields.tools ?? []) as readonly unknown[],
      includeUsage: options?.include_usage === true,
      choices: (fields.n ?? 1) as number,
      serviceTier: (fields.service_tier ?? undefined) as string | undefined,
      hiddenThinking: hiddenThinkingOfChat(fields),
      asked: askedOf(fields),
      predictedTokens: predictedTokens(fields.prediction),
      audioBytesPerToken: audioBytesPerToken(isObject(fields.audio) ? fields.audio.format : undefined),
      // A host may cache any prompt on its own.
      cacheWrite: '5m',
      hostTools: hostToolsOf(fields),
    }),
  };
}

/** Several times the limit of any host. */
export const MAX_MESSAGES = 10_000;
const ROLES: readonly unknown[] = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];
const ROLES_WITHOUT_CONTENT: readonly unknown[] = ['assistant', 'function'];
const MAX_STOPS = 4;

/** In all of these, null counts as absent and is passed as undefined. */
const CHECKS: Checks = Object.entries<Check>({
  messages: checkMessages,
  max_tokens: wholeNumber('max_tokens', 1),
  max_completion_tokens: wholeNumber('max_completion_tokens', 1),
  ...Object.fromEntries(foreignMaxima('max_completion_tokens')),
  n: wholeNumber('n', 1, 128),
  stream: flag('stream'),
  stream_options: checkStreamOptions,
  temperature: number('temperature', 0, 2),
  top_p: number('top_p', 0, 1),
  presence_penalty: number('presence_penalty', -2, 2),
  frequency_penalty: number('frequency_penalty', -2, 2),
  stop: checkStop,
  tools: checkTools,
  service_tier: serviceTier,
  modalities: MODALITIES_CHECK,
});

/** Fields that affect permissions or the price. */
const ACTED_ON: ReadonlySet<string> = new Set([
  'model',
  ...CHECKS.map(([name]) => name),
  'functions',
  ...SWITCH_NAMES,
  'response_format',
  'audio',
  'prediction',
  ...CHAT_THINKING_FIELDS,
]);
const ACTED_ON_IN_STREAM_OPTIONS: ReadonlySet<string> = new Set(['include_usage']);

function findVariant({ members, fields }: JsonBody): string | undefined {
  const names = members.map(({ key }) => key);
  const { stream_options: options } = fields;
  return (
    caseVariant('', names, ACTED_ON) ??
    (isObject(options) ? caseVariant('stream_options.', Object.keys(options), ACTED_ON_IN_STREAM_OPTIONS) : undefined)
  );
}

/** Refuses long cache writes, since usage in this format does not report their tokens separately. */
function longWriteProblem(fields: Fields): string | undefined {
  if (longestLifetimeOfOpenAi(fields) === '5m') return undefined;
  return 'prompt_cache_breakpoint.ttl: expected 30m: longer cache lifetimes cost more, and usage does not report their tokens';
}

/** Estimates a prediction: a text or an array of parts. */
function predictedTokens(prediction: unknown): number {
  const content = isObject(prediction) ? prediction.content : undefined;
  if (content === undefined) return 0;
  return estimateTokens(typeof content === 'string' ? content : JSON.stringify(content));
}

function checkMessages(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return 'messages: expected an array of at least one message';
  if (value.length > MAX_MESSAGES) return `messages: expected an array of at most ${MAX_MESSAGES} messages`;
  return problemIn(value, 'messages', checkMessage);
}

/** Returns the first problem of an item of a field. `check` returns it without the item's path, which precedes it. */
function problemIn(items: readonly unknown[], field: string, check: (item: unknown) => string | undefined) {
  for (let index = 0; index < items.length; index++) {
    const problem = check(items[index]);
    if (problem !== undefined) return `${field}[${index}]${problem}`;
  }
  return undefined;
}

function checkMessage(message: unknown): string | undefined {
  if (!isObject(message)) return ': expected an object with role and content';
  const { role, content } = message;
  if (!ROLES.includes(role)) return `.role: expected one of ${ROLES.join(', ')}`;
  if (typeof content === 'string') return undefined;
  if (ROLES_WITHOUT_CONTENT.includes(role) && (content === undefined || content === null)) return undefined;
  if (!Array.isArray(content)) return '.content: expected a string or an array of parts';
  const invalid = content.findIndex((part) => !isObject(part) || typeof part.type !== 'string');
  return invalid < 0 ? undefined : `.content[${invalid}]: expected an object with a type`;
}

function checkStreamOptions(value: unknown, fields: Fields): string | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) return 'stream_options: expected an object';
  if (fields.stream !== true) return 'stream_options: expected only with stream: true';
  // The gateway overwrites it in every stream, so the host would not see an invalid value.
  return flag('stream_options.include_usage')(value.include_usage ?? undefined, fields);
}

function checkStop(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return undefined;
  const isValid =
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= MAX_STOPS &&
    value.every((item) => typeof item === 'string');
  return isValid ? undefined : `stop: expected a string or an array of 1 to ${MAX_STOPS} strings`;
}

function checkTools(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) return 'tools: expected an array';
  return problemIn(value, 'tools', checkTool);
}

function checkTool(tool: unknown): string | undefined {
  if (!isObject(tool)) return ': expected an object';
  const type = tool.type ?? 'function';
  if (typeof type !== 'string') return '.type: expected a string, such as function';
  if (type !== 'function') return undefined;
  const definition = tool.function;
  if (!isObject(definition)) return '.function: expected an object with a name';
  if (typeof definition.name !== 'string' || definition.name === '') return '.function.name: expected a string';
  const { parameters } = definition;
  const isValid = parameters === undefined || parameters === null || isObject(parameters);
  return isValid ? undefined : '.function.parameters: expected an object';
}
