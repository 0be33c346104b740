/** Validates a messages request, and extracts the fields that the gateway acts on. */
import { isObject, objectsIn } from '../../core/json.ts';
import { isOrdinaryTier, PRICED_FIELDS, type PricedField, tierOfField } from '../../core/price-tiers.ts';
import type { JsonBody } from '../../wire/body.ts';
import { countOf } from '../answer.ts';
import { checkBetas } from '../betas.ts';
import { longestLifetime } from '../cache-lifetime.ts';
import {
  type Check,
  type Checks,
  caseVariant,
  firstProblem,
  flag,
  foreignMaxima,
  number,
  PRICED,
  refused,
  serviceTier,
  text,
  wholeNumber,
} from '../checks.ts';
import type { Checked, Dialect, Fields } from '../dialect.ts';
import { askedOf, MODALITIES_CHECK } from '../modalities.ts';
import { textRequest } from '../text-request.ts';
import { hiddenThinkingOfMessages } from '../thinking.ts';
import { findTools, hostTools, maximumProblem } from './messages-tools.ts';

/** Several times the limit of any host. */
const MAX_MESSAGES = 100_000;
const ROLES: readonly unknown[] = ['user', 'assistant', 'system'];

/** `without`: the assumed maximum of a request without one. */
export function checkMessages(dialect: Dialect, body: JsonBody, model: string, without?: number): Checked {
  const { fields } = body;
  const names = body.members.map(({ key }) => key);
  const tools = findTools(fields);
  const problem =
    caseVariant('', names, ACTED_ON) ??
    firstProblem(fields, CHECKS) ??
    maximumProblem(tools) ??
    (tiersOf(fields).length > 1 ? TIERS_COMBINED : undefined);
  const maximum = fields.max_tokens ?? without;
  if (problem === undefined && maximum === undefined) return { ok: false, problem: MAXIMUM_EXPECTED };
  // On these details, Anthropic's own client sends the whole conversation instead.
  const details = fields.thread === undefined || fields.thread === null ? undefined : THREADS_UNSUPPORTED;
  if (problem !== undefined) return { ok: false, problem, ...(details && { details }) };
  return {
    ok: true,
    request: textRequest(dialect, body, model, maximum as number, {
      asked: askedOf(fields),
      serviceTier: tiersOf(fields).at(-1),
      hiddenThinking: hiddenThinkingOfMessages(fields),
      cacheWrite: longestLifetime(fields, ['cache_control'], '5m'),
      summarizesAbove: summarizesAbove(fields.context_management),
      hostTools: hostTools(tools),
    }),
  };
}

const STATE = 'the provider would keep it for all keys of this gateway';
const THREADS_UNSUPPORTED = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };

const TIERS_COMBINED =
  'service_tier: a service tier, a speed and an inference_geo with prices of their own cannot be combined; set one of them';

/** Returns the request's values that change prices. An ordinary service tier is omitted if another value has prices. */
function tiersOf({ service_tier: tier, speed, inference_geo: geo }: Fields): readonly string[] {
  const priced = Object.entries({ speed, inference_geo: geo } as Record<PricedField, unknown>).flatMap(
    ([field, value]) =>
      typeof value === 'string' && value !== PRICED_FIELDS[field as PricedField]
        ? [tierOfField(field as PricedField, value)]
        : [],
  );
  return typeof tier === 'string' && (priced.length === 0 || !isOrdinaryTier(tier)) ? [tier, ...priced] : priced;
}

const CHECKS: Checks = Object.entries<Check>({
  thread: refused('thread', `${STATE}; send the whole conversation in messages instead`),
  messages: checkList,
  max_tokens: wholeNumber('max_tokens', 1),
  ...Object.fromEntries(foreignMaxima('max_tokens')),
  stream: flag('stream'),
  temperature: number('temperature', 0, 1),
  top_p: number('top_p', 0, 1),
  system: (value) => contentProblem(value, 'system'),
  tools: checkTools,
  service_tier: serviceTier,
  anthropic_beta: checkBetas,
  modalities: MODALITIES_CHECK,
  speed: text('speed'),
  inference_geo: text('inference_geo'),
  fallbacks: refused('fallbacks', 'another model could answer than the one that was checked; leave it out'),
  billing_policy: refused('billing_policy', PRICED),
  diagnostics: (value) =>
    isObject(value) && typeof value.previous_message_id === 'string'
      ? `diagnostics.previous_message_id: ${STATE}; leave it out`
      : undefined,
  mcp_servers: (value) =>
    value === undefined || (Array.isArray(value) && value.length === 0)
      ? undefined
      : 'mcp_servers: their answers would be input that this gateway cannot estimate; leave them out',
  container: (value) =>
    typeof value === 'string' || (isObject(value) && value.id !== undefined && value.id !== null)
      ? 'container: a container at the provider would be shared by all keys; leave its id out'
      : undefined,
});

const MAXIMUM_EXPECTED = 'max_tokens: expected a whole number of at least 1';

const ACTED_ON: ReadonlySet<string> = new Set([
  'model',
  ...CHECKS.map(([name]) => name),
  'cache_control',
  'thinking',
  'output_config',
]);

function checkList(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return 'messages: expected an array of at least one message';
  if (value.length > MAX_MESSAGES) return `messages: expected an array of at most ${MAX_MESSAGES} messages`;
  for (const [index, message] of value.entries()) {
    const where = `messages[${index}]`;
    if (!isObject(message)) return `${where}: expected an object with role and content`;
    if (!ROLES.includes(message.role)) return `${where}.role: expected user, assistant or system`;
    const { content } = message;
    const problem = content === undefined || content === null ? expectedContent(where) : contentProblem(content, where);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function contentProblem(content: unknown, where: string): string | undefined {
  if (content === undefined || typeof content === 'string') return undefined;
  const field = where === 'system' ? where : `${where}.content`;
  if (!Array.isArray(content)) return `${field}: expected a string or an array of blocks`;
  const invalid = content.findIndex((block) => !isObject(block) || typeof block.type !== 'string');
  if (invalid >= 0) return `${field}[${invalid}]: expected an object with a type`;
  return undefined;
}

function expectedContent(where: string): string {
  return `${where}.content: expected a string or an array of blocks`;
}

function checkTools(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) return 'tools: expected an array';
  const invalid = value.findIndex(
    (tool) => !isObject(tool) || !(tool.type === undefined || tool.type === null || typeof tool.type === 'string'),
  );
  return invalid < 0 ? undefined : `tools[${invalid}]: expected an object, with a type that is a string`;
}

/** Returns the lowest threshold of an edit that does more than clear input. */
function summarizesAbove(management: unknown): number | undefined {
  const edits = isObject(management) ? objectsIn(management.edits) : [];
  const others = edits.filter(({ type }) => typeof type !== 'string' || !type.startsWith('clear_'));
  if (others.length === 0) return undefined;
  return Math.min(...others.map(({ trigger }) => (isObject(trigger) && countOf(trigger.value)) || 0));
}
