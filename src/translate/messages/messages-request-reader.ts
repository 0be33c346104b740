/** Reads messages requests, field by field. */
import { hash } from 'node:crypto';
import { isObject, objectOf } from '../../core/json.ts';
import { PRICED_FIELDS } from '../../core/price-tiers.ts';
import { BETAS_FIELD } from '../../dialects/betas.ts';
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { type Findings, UNTRANSLATABLE } from '../findings.ts';
import { type Format, type Reasoning, sourced } from '../request.ts';
import { effortOfBudget } from '../thinking-budget.ts';
import type { HostTerms, ReadRequest } from '../translation.ts';
import { EventWriter, MessageWriter } from './messages-answer-writer.ts';
import { expectFields } from './messages-parts-reader.ts';
import { readTools } from './messages-tools-reader.ts';
import { readTurns } from './messages-turns-reader.ts';

const KNOWN_FIELDS: readonly string[] = [
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_p', 'tools'],
  ...['tool_choice', 'thinking', 'output_config', 'metadata', 'service_tier', 'context_management'],
  // Priced fields; values other than the default are refused below.
  ...Object.keys(PRICED_FIELDS),
  'diagnostics',
  BETAS_FIELD,
];

export function readMessagesRequest(request: ModelRequest, terms: HostTerms, findings: Findings): ReadRequest {
  const { fields } = request.body;
  expectFields(KNOWN_FIELDS, fields, '', findings);
  const reasoning = readReasoning(fields, findings);
  const stops = findings.array(fields.stop_sequences, 'stop_sequences');
  const neutral = {
    model: request.model,
    stream: request.stream,
    turns: { value: readTurns(fields, findings), field: 'messages' },
    ...readTools(fields, terms, findings),
    maxOutput: request.maxOutput,
    temperature: sourced(fields.temperature as number | undefined, 'temperature'),
    topP: sourced(fields.top_p as number | undefined, 'top_p'),
    stops: stops.length > 0 ? { value: stops, field: 'stop_sequences' } : undefined,
    reasoning,
    format: readFormat(fields.output_config, findings),
    user: readUser(fields.metadata, findings),
    serviceTier: readTier(fields.service_tier, findings),
  };
  for (const [field, ordinary] of Object.entries(PRICED_FIELDS)) {
    const value = fields[field];
    if (value !== undefined && value !== null && value !== ordinary) findings.refuse(field, UNTRANSLATABLE);
  }
  if (findings.object(fields.context_management, 'context_management') !== undefined) {
    findings.ignore('context_management');
  }
  // Betas, like their header, apply only to hosts of this dialect.
  if (fields[BETAS_FIELD] !== undefined && fields[BETAS_FIELD] !== null) findings.ignore(BETAS_FIELD);
  const options = { model: request.model, thinking: thinkingIn(fields.thinking) } as const;
  return {
    request: neutral,
    writers: {
      whole: (context) => new MessageWriter(options, context),
      stream: (context) => new EventWriter(options, context),
    },
  };
}

/** User names that every host accepts. */
const USER = /^[A-Za-z0-9_-]{1,64}$/;

/** Replaces other names by their hash, which also distinguishes users. */
function readUser(value: unknown, findings: Findings): string | undefined {
  const metadata = findings.object(value, 'metadata') ?? {};
  expectFields(['user_id'], metadata, 'metadata', findings);
  const user = findings.text(metadata.user_id ?? '', 'metadata.user_id');
  if (user === '') return undefined;
  return USER.test(user) ? user : hash('sha256', user, 'hex');
}

/** Reads the tier. `auto` is omitted: it is the default, and many hosts have no tiers. */
function readTier(tier: unknown, findings: Findings): string | undefined {
  if (tier === undefined || tier === null || tier === 'auto') return undefined;
  if (tier !== 'standard_only') findings.refuse('service_tier', 'expected auto or standard_only');
  return 'default';
}

function readReasoning(fields: Fields, findings: Findings): Reasoning {
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

/** Reads `thinking`. Answers show thinking only on request, because other clients expect text in the first block. */
function readThinking(thinking: Fields, findings: Findings): Thinking {
  const { type, display, budget_tokens: budget } = thinking;
  expectFields(['type', 'display', 'budget_tokens'], thinking, 'thinking', findings);
  if (!DISPLAYS.includes(display)) findings.refuse('thinking.display', 'expected summarized or omitted');
  const isShown = display !== 'omitted';
  if (type === 'adaptive') return { effort: undefined, isShown };
  if (type === 'enabled') return { effort: effortOfBudget(budget), isShown };
  if (type !== 'disabled') findings.refuse('thinking.type', 'expected adaptive, enabled or disabled');
  return NO_THINKING;
}

/** Returns the form of thinking in answers. */
function thinkingIn(thinking: unknown): 'shown' | 'sealed' | 'none' {
  if (!isObject(thinking) || thinking.type === 'disabled') return 'none';
  return thinking.display === 'omitted' ? 'sealed' : 'shown';
}

/** Effort levels with equal names in both dialects. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];

function readEffort(effort: unknown, findings: Findings): string | undefined {
  if (effort === undefined || effort === null) return undefined;
  if (typeof effort === 'string' && EFFORTS.includes(effort)) return effort;
  findings.refuse('output_config.effort', `expected one of ${EFFORTS.join(', ')}`);
  return undefined;
}

/** Reads the output format. Other dialects require a schema name, and the schema is always strict here. */
function readFormat(config: unknown, findings: Findings): Format {
  const where = 'output_config.format';
  const format = isObject(config) ? findings.object(config.format, where) : undefined;
  if (format === undefined) return { kind: 'text' };
  const { type, schema } = format;
  expectFields(['type', 'schema'], format, where, findings);
  if (type !== 'json_schema') findings.refuse(`${where}.type`, 'expected json_schema');
  if (!isObject(schema)) findings.refuse(`${where}.schema`, 'expected an object');
  return {
    kind: 'json_schema',
    definition: { name: 'answer', schema: objectOf(schema), strict: true },
  };
}
