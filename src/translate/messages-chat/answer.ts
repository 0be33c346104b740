/** Translates a chat completion into a message. */
import { isObject, parseJson } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { ResponseContext } from '../translation.ts';
import { type ChatCall, choiceOf, messageUsage, NO_MESSAGE_USAGE, readMessage, stopReasonOf } from './chat-output.ts';

/** What the request decides about its answer. */
export interface AnswerOptions {
  /** The name of the model, where the host does not say one. */
  readonly model: string;
  readonly showsThinking: boolean;
}

export function translateAnswer(answer: Fields, options: AnswerOptions, context: ResponseContext): Fields {
  const choice = choiceOf(answer) ?? {};
  const { thinking, text, refusal, calls } = readMessage(choice);
  const written = text + refusal;
  return {
    ...messageHead(answer, options, context),
    content: [
      // Nothing signs it: the host would not take it back.
      ...(thinking !== '' && options.showsThinking ? [{ type: 'thinking', thinking, signature: '' }] : []),
      ...(written === '' ? [] : [{ type: 'text', text: written }]),
      ...calls.map((call, index) => toolUse(call, index, context)),
    ],
    stop_reason: stopReasonOf(choice.finish_reason, { hasCalls: calls.length > 0, hasRefusal: refusal !== '' }),
    stop_sequence: null,
    usage: messageUsage(answer.usage) ?? NO_MESSAGE_USAGE,
  };
}

/** What a message says about itself, in the order of this dialect. Some hosts repeat ids, or send none. */
export function messageHead(answer: Fields, { model }: AnswerOptions, context: ResponseContext): Fields {
  return {
    id: `msg_${ownId(context)}`,
    type: 'message',
    role: 'assistant',
    model: typeof answer.model === 'string' && answer.model !== '' ? answer.model : model,
  };
}

/** The id of the call at a position, where the host gives none. */
export function callId(position: number, context: ResponseContext): string {
  return `toolu_${ownId(context)}_${position}`;
}

/** The part of a request's id that is unique. */
function ownId({ requestId }: ResponseContext): string {
  return requestId.replace(/^req_/, '');
}

function toolUse({ id, name, arguments: text }: ChatCall, position: number, context: ResponseContext): Fields {
  return { type: 'tool_use', id: id === '' ? callId(position, context) : id, name, input: inputOf(text) };
}

/** This dialect has objects only. Any other text becomes the field `input` of one, so that nothing is lost. */
function inputOf(text: string): Fields {
  if (text.trim() === '') return {};
  const value = parseJson(text)?.value;
  return isObject(value) ? value : { input: text };
}
