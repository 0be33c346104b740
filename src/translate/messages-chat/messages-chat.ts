/** Lets clients that speak messages, such as Claude Code, use hosts that speak chat completions. */
import type { Translation } from '../translation.ts';
import { translateRequest } from './request.ts';

export const MESSAGES_TO_CHAT: Translation = { from: 'messages', to: 'chat', request: translateRequest };
