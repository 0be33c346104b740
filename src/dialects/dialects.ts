/** The dialects, by their names. */
import type { DialectName } from '../core/dialects.ts';
import { CHAT } from './chat/chat.ts';
import type { Dialect } from './dialect.ts';
import { EMBEDDINGS } from './embeddings/embeddings.ts';
import { GEMINI } from './gemini/gemini.ts';
import { IMAGES } from './images/images.ts';
import { MESSAGES } from './messages/messages.ts';
import { MODERATIONS } from './moderations/moderations.ts';
import { RERANK } from './rerank/rerank.ts';
import { RESPONSES } from './responses/responses.ts';
import { SPEECH } from './speech/speech.ts';

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  chat: CHAT,
  responses: RESPONSES,
  embeddings: EMBEDDINGS,
  messages: MESSAGES,
  images: IMAGES,
  speech: SPEECH,
  moderations: MODERATIONS,
  rerank: RERANK,
  gemini: GEMINI,
};
