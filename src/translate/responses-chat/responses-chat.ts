/** Lets clients of the responses dialect, such as Codex, use hosts that speak chat completions. */
import { responsesTranslation } from '../responses/responses-translation.ts';
import { CompletionReader } from './answer.ts';
import { translateRequest } from './request.ts';

export const RESPONSES_TO_CHAT = responsesTranslation(
  'chat',
  translateRequest,
  (writer) => new CompletionReader(writer),
);
