/** Responses, of clients such as Codex. No host is asked in them for others. */
import type { ClientFormat } from '../translation.ts';
import { readResponsesRequest } from './responses-request-reader.ts';

export const RESPONSES_CLIENT: ClientFormat = { dialect: 'responses', read: readResponsesRequest };
