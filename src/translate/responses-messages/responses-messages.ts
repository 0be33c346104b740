/** Lets clients of the responses dialect, such as Codex, use hosts that speak messages. */

import { MessageReader } from '../messages/message-reader.ts';
import { responsesTranslation } from '../responses/responses-translation.ts';
import { translateRequest } from './request.ts';

export const RESPONSES_TO_MESSAGES = responsesTranslation(
  'messages',
  translateRequest,
  (writer) => new MessageReader(writer),
);
