/** Google's dialect, of clients such as Gemini CLI, and of hosts. */
import type { ClientFormat, HostFormat } from '../translation.ts';
import { GeminiAnswerReader } from './gemini-answer-reader.ts';
import { readGeminiRequest } from './gemini-request-reader.ts';
import { writeGeminiRequest } from './gemini-request-writer.ts';

export const GEMINI_CLIENT: ClientFormat = { dialect: 'gemini', read: readGeminiRequest };

export const GEMINI_HOST: HostFormat = {
  dialect: 'gemini',
  write: writeGeminiRequest,
  reader: (writer) => new GeminiAnswerReader(writer),
};
