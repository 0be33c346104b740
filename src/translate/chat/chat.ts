/** Chat completions, of clients and of hosts. */
import type { ClientFormat, HostFormat } from '../translation.ts';
import { ChatAnswerReader } from './chat-answer-reader.ts';
import { readChatRequest } from './chat-request-reader.ts';
import { writeChatRequest } from './chat-request-writer.ts';

export const CHAT_CLIENT: ClientFormat = { dialect: 'chat', read: readChatRequest };

export const CHAT_HOST: HostFormat = {
  dialect: 'chat',
  write: writeChatRequest,
  reader: (writer) => new ChatAnswerReader(writer),
};
