/** Reads messages requests, field by field. */
import { hash } from 'node:crypto';
import type { ModelRequest } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import type { HostTerms, ReadRequest } from '../translation.ts';
import { EventWriter, MessageWriter } from './messages-answer-writer.ts';
import { expectFields } from './messages-parts-reader.ts';
import { readFormat, readReasoning } from './messages-reasoning-reader.ts';
import { readTools } from './messages-tools-reader.ts';
import { readTurns } from './messages-turns-reader.ts';

const KNOWN_FIELDS: readonly string[] = [
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_p', 'tools'],
  ...['tool_choice', 'thinking', 'output_config', 'metadata', 'service_tier', 'context_management'],
  // Their checked values ask for what is usual.
  ...['speed', 'inference_geo', 'diagnostics'],
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
    ...readTools(fields, findings),
    maxOutput: maximumOf(request, terms),
    temperature: (fields.temperature ?? undefined) as number | undefined,
    topP: (fields.top_p ?? undefined) as number | undefined,
    stops: stops.length > 0 ? { value: stops, field: 'stop_sequences' } : undefined,
    reasoning,
    format: { value: readFormat(fields.output_config, findings), field: 'output_config.format' },
    user: readUser(fields.metadata, findings),
    serviceTier: readTier(fields.service_tier, findings),
  };
  if (findings.object(fields.context_management, 'context_management') !== undefined) {
    findings.ignore('context_management');
  }
  const options = { model: request.model, showsThinking: reasoning.isShown };
  return {
    request: neutral,
    writers: {
      whole: (context) => new MessageWriter(options, context),
      stream: (context) => new EventWriter(options, context),
    },
  };
}

/**
 * No answer is longer than the model's own maximum. Clients that know another model better declare
 * more, which many hosts refuse.
 */
function maximumOf({ maxOutput }: ModelRequest, terms: HostTerms): number | undefined {
  return maxOutput === undefined ? undefined : Math.min(maxOutput, terms.maxOutput ?? maxOutput);
}

/** What every host accepts as the name of a user. */
const USER = /^[A-Za-z0-9_-]{1,64}$/;

/** Any other name becomes its digest, which tells users apart just as well. */
function readUser(value: unknown, findings: Findings): string | undefined {
  const metadata = findings.object(value, 'metadata') ?? {};
  expectFields(['user_id'], metadata, 'metadata', findings);
  const user = findings.text(metadata.user_id ?? '', 'metadata.user_id');
  if (user === '') return undefined;
  return USER.test(user) ? user : hash('sha256', user, 'hex');
}

/** `auto` is the default of both dialects, and many hosts know no tiers at all. */
function readTier(tier: unknown, findings: Findings): string | undefined {
  if (tier === undefined || tier === null || tier === 'auto') return undefined;
  if (tier !== 'standard_only') findings.refuse('service_tier', 'expected auto or standard_only');
  return 'default';
}
