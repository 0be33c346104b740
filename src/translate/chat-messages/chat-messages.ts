/** Lets clients of the chat dialect use hosts of the messages dialect. */
import type { ModelRequest } from '../../dialects/dialect.ts';
import type { HostTerms, TranslatedRequest, Translation } from '../translation.ts';
import { translateAnswer } from './answer.ts';
import { Findings } from './findings.ts';
import { translateFields } from './request.ts';
import { ChatStream } from './stream.ts';

export const CHAT_TO_MESSAGES: Translation = { from: 'chat', to: 'messages', request: translateRequest };

function translateRequest(request: ModelRequest, terms: HostTerms): TranslatedRequest {
  const findings = new Findings();
  const { fields, style } = translateFields(request, terms, findings);
  if (findings.problem !== undefined) return { ok: false, problem: findings.problem };
  const { model, includeUsage } = request;
  return {
    ok: true,
    fields,
    ignored: findings.ignored,
    response: {
      answer: (answer, context) => translateAnswer(answer, style, model, context),
      stream: (context) => new ChatStream({ model, includeUsage, style }, context),
    },
  };
}
