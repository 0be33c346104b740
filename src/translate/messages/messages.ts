/** Messages, of clients such as Claude Code, and of hosts. */
import type { ClientFormat, HostFormat } from '../translation.ts';
import { MessagesAnswerReader } from './messages-answer-reader.ts';
import { readMessagesRequest } from './messages-request-reader.ts';
import { writeMessagesRequest } from './messages-request-writer.ts';

export const MESSAGES_CLIENT: ClientFormat = { dialect: 'messages', read: readMessagesRequest };

export const MESSAGES_HOST: HostFormat = {
  dialect: 'messages',
  write: writeMessagesRequest,
  reader: (writer) => new MessagesAnswerReader(writer),
};
