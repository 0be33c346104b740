/** Translates a messages request, field by field, into a chat-completions request. */
import { hash } from 'node:crypto';
import type { ModelRequest } from '../../dialects/dialect.ts';
import { CompletionReader } from '../chat/completion-reader.ts';
import { EventWriter, type MessageOptions, MessageWriter } from '../messages/message-writer.ts';
import { type HostTerms, responseTranslation, type TranslatedRequest } from '../translation.ts';
import { translateConversation } from './conversation.ts';
import { Notes, present } from './notes.ts';
import { translateReasoning } from './reasoning.ts';
import { translateTools } from './tools.ts';

const KNOWN_FIELDS: readonly string[] = [
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_p', 'tools'],
  ...['tool_choice', 'thinking', 'output_config', 'metadata', 'service_tier', 'context_management'],
  // Their checked values ask for what is usual.
  ...['speed', 'inference_geo', 'diagnostics'],
];

export function translateRequest(request: ModelRequest, terms: HostTerms): TranslatedRequest {
  const { fields } = request.body;
  const notes = new Notes();
  notes.allow(KNOWN_FIELDS, fields, '');
  const { showsThinking, ...reasoning } = translateReasoning(fields, notes);
  const translated = present({
    model: request.model,
    stream: request.stream,
    messages: translateConversation(fields, notes),
    max_tokens: maximumOf(request, terms),
    stop: translateStops(fields.stop_sequences, notes),
    temperature: fields.temperature,
    top_p: fields.top_p,
    ...translateTools(fields, notes),
    ...reasoning,
    user: translateUser(fields.metadata, notes),
    service_tier: translateTier(fields.service_tier, notes),
  });
  if (notes.object(fields.context_management, 'context_management') !== undefined) notes.ignore('context_management');
  if (notes.problem !== undefined) return { ok: false, problem: notes.problem };
  const options: MessageOptions = { model: request.model, showsThinking };
  return {
    ok: true,
    fields: translated,
    ignored: notes.ignored,
    response: responseTranslation((writer) => new CompletionReader(writer), {
      whole: (context) => new MessageWriter(options, context),
      stream: (context) => new EventWriter(options, context),
    }),
  };
}

/**
 * No answer is longer than the model's own maximum. Clients that know another model better declare
 * more, which many hosts refuse.
 */
function maximumOf({ maxOutput }: ModelRequest, terms: HostTerms): number | undefined {
  return maxOutput === undefined ? undefined : Math.min(maxOutput, terms.maxOutput ?? maxOutput);
}

/** As many as chat completions take. */
const MAX_STOPS = 4;

function translateStops(value: unknown, notes: Notes): readonly unknown[] | undefined {
  const stops = notes.array(value, 'stop_sequences');
  if (stops.length > MAX_STOPS) notes.refuse('stop_sequences', `this model takes at most ${MAX_STOPS}`);
  return stops.length > 0 ? stops : undefined;
}

/** What every host accepts as the name of a user. */
const USER = /^[A-Za-z0-9_-]{1,64}$/;

/** Any other name becomes its digest, which tells users apart just as well. */
function translateUser(value: unknown, notes: Notes): string | undefined {
  const metadata = notes.object(value, 'metadata') ?? {};
  notes.allow(['user_id'], metadata, 'metadata');
  const user = notes.text(metadata.user_id ?? '', 'metadata.user_id');
  if (user === '') return undefined;
  return USER.test(user) ? user : hash('sha256', user, 'hex');
}

/** `auto` is the default of both dialects, and many hosts know no tiers at all. */
function translateTier(tier: unknown, notes: Notes): string | undefined {
  if (tier === undefined || tier === null || tier === 'auto') return undefined;
  if (tier !== 'standard_only') notes.refuse('service_tier', 'expected auto or standard_only');
  return 'default';
}
