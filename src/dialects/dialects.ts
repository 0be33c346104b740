/** The dialects, by their names. */
import type { DialectName } from '../core/dialects.ts';
import { CHAT } from './chat/chat.ts';
import type { Dialect } from './dialect.ts';
import { EMBEDDINGS } from './embeddings/embeddings.ts';
import { GEMINI } from './gemini/gemini.ts';
import { MESSAGES } from './messages/messages.ts';
import { RESPONSES } from './responses/responses.ts';

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  chat: CHAT,
  responses: RESPONSES,
  embeddings: EMBEDDINGS,
  messages: MESSAGES,
  gemini: GEMINI,
};
