/** Lets clients of the chat dialect use hosts of the messages dialect. */
import type { ModelRequest } from '../../dialects/dialect.ts';
import { ChunkWriter, CompletionWriter } from '../chat/completion-writer.ts';
import { Findings } from '../findings.ts';
import { MessageReader } from '../messages/message-reader.ts';
import { type HostTerms, responseTranslation, type TranslatedRequest, type Translation } from '../translation.ts';
import { translateFields } from './request.ts';

export const CHAT_TO_MESSAGES: Translation = { from: 'chat', to: 'messages', request: translateRequest };

function translateRequest(request: ModelRequest, terms: HostTerms): TranslatedRequest {
  const findings = new Findings();
  const { fields, style } = translateFields(request, terms, findings);
  if (findings.problem !== undefined) return { ok: false, problem: findings.problem };
  const options = { model: request.model, includeUsage: request.includeUsage, ...style };
  return {
    ok: true,
    fields,
    ignored: findings.ignored,
    response: responseTranslation((writer) => new MessageReader(writer), {
      whole: (context) => new CompletionWriter(options, context),
      stream: (context) => new ChunkWriter(options, context),
    }),
  };
}
