/** The dialects, by their names. */
import type { DialectName } from '../core/dialects.ts';
import { CHAT } from './chat/chat.ts';
import { CONVERSE } from './converse/converse.ts';
import type { Dialect } from './dialect.ts';
import { EMBEDDINGS } from './embeddings/embeddings.ts';
import { GEMINI } from './gemini/gemini.ts';
import { GEMINI_EMBEDDINGS } from './gemini/gemini-embeddings.ts';
import { VERTEX_EMBEDDINGS } from './gemini/vertex-embeddings.ts';
import { IMAGE_EDITS } from './images/edits.ts';
import { IMAGES } from './images/images.ts';
import { MESSAGES } from './messages/messages.ts';
import { MODERATIONS } from './moderations.ts';
import { RERANK } from './rerank.ts';
import { RESPONSES } from './responses/responses.ts';
import { SPEECH } from './speech.ts';
import { TRANSCRIPTIONS, TRANSLATIONS } from './transcriptions.ts';

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  chat: CHAT,
  responses: RESPONSES,
  embeddings: EMBEDDINGS,
  messages: MESSAGES,
  images: IMAGES,
  image_edits: IMAGE_EDITS,
  speech: SPEECH,
  transcriptions: TRANSCRIPTIONS,
  translations: TRANSLATIONS,
  moderations: MODERATIONS,
  rerank: RERANK,
  gemini: GEMINI,
  gemini_embeddings: GEMINI_EMBEDDINGS,
  converse: CONVERSE,
  vertex_embeddings: VERTEX_EMBEDDINGS,
};
