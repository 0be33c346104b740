/** Lets clients of the responses dialect, such as Codex, use hosts that speak chat completions. */

import { CompletionReader } from '../chat/completion-reader.ts';
import { responsesTranslation } from '../responses/responses-translation.ts';
import { translateRequest } from './request.ts';

export const RESPONSES_TO_CHAT = responsesTranslation(
  'chat',
  translateRequest,
  (writer) => new CompletionReader(writer),
);
