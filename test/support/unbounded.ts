/** Options of a stream for which nothing is held, and which may write as much as it likes. */
import { CHAT } from '../../src/dialects/chat/chat.ts';
import { NO_BOUND } from '../../src/relay/relay.ts';
import { NO_SECRETS } from '../../src/wire/secrets.ts';

/** A stream of a host that speaks chat, for a client that does. */
export const CHAT_STREAM = { dialect: CHAT, reader: CHAT.startStream('req_1'), translator: undefined };
export const UNBOUNDED = { secrets: NO_SECRETS, choices: 1, allowance: NO_BOUND };
