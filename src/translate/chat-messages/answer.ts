/** Translates whole answers. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { ResponseContext } from '../translation.ts';
import { type CallStyle, callsOf } from './calls.ts';
import { serviceTierOf, usageOf } from './usage.ts';

export function translateAnswer(answer: Fields, style: CallStyle, model: string, context: ResponseContext): Fields {
  const usage = usageOf(answer.usage);
  return {
    id: typeof answer.id === 'string' ? answer.id : context.requestId,
    object: 'chat.completion',
    created: context.nowS,
    model: typeof answer.model === 'string' ? answer.model : model,
    choices: [
      {
        index: 0,
        message: messageOf(answer, style),
        logprobs: null,
        finish_reason: finishReasonOf(answer.stop_reason, style),
      },
    ],
    ...serviceTierOf(answer.usage),
    ...(usage !== undefined && { usage }),
  };
}

function messageOf(answer: Fields, style: CallStyle): Fields {
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isObject) : [];
  const text = joined(blocks, 'text');
  const reasoning = joined(blocks, 'thinking');
  const calls = callsOf(
    blocks.filter(({ type }) => type === 'tool_use'),
    style,
  );
  const thinkingBlocks = blocks.flatMap((block) => thinkingBlockOf(block) ?? []);
  const refusal = refusalOf(answer);
  const hasOtherContent = Object.keys(calls).length > 0 || refusal !== undefined;
  return {
    role: 'assistant',
    content: text === '' && hasOtherContent ? null : text,
    refusal: refusal ?? null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(thinkingBlocks.length > 0 && { thinking_blocks: thinkingBlocks }),
    ...calls,
  };
}

/** All texts of the blocks of a type, which is the name of their text as well. */
function joined(blocks: readonly Fields[], type: 'text' | 'thinking'): string {
  return blocks.map((block) => (block.type === type && typeof block[type] === 'string' ? block[type] : '')).join('');
}

/** A block of thinking, as a client gives it back. Undefined for all other blocks. */
export function thinkingBlockOf({ type, thinking, signature, data }: Fields): Fields | undefined {
  if (type === 'thinking') return { type, thinking: thinking ?? '', signature: signature ?? '' };
  return type === 'redacted_thinking' ? { type, data } : undefined;
}

const FINISH_REASONS: ReadonlyMap<unknown, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

export function finishReasonOf(stopReason: unknown, style: CallStyle): string {
  if (stopReason === 'tool_use') return style.isFunctionCall ? 'function_call' : 'tool_calls';
  return FINISH_REASONS.get(stopReason) ?? 'stop';
}

/** What the host says about a refusal, in an answer or in the delta that ends a stream. */
export function refusalOf({ stop_reason: reason, stop_details: details }: Fields): string | undefined {
  const explanation = reason === 'refusal' && isObject(details) ? details.explanation : undefined;
  return typeof explanation === 'string' && explanation !== '' ? explanation : undefined;
}
