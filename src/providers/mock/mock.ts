/**
 * The mock provider: scripts the responses of a chat-completions host, or its failures, offline.
 * Pure.
 */

import { isObject } from '../../core/json.ts';
import { estimateInput } from '../../wire/estimate.ts';
import type { ChatRequest } from '../../wire/request.ts';
import { DONE_EVENT, dataEvent } from '../../wire/sse.ts';
import { DIRECTIVES, type Directives, readDirectives } from './directives.ts';

/**
 * One step of a response: a delay, then bytes, then perhaps a lost connection or permanent silence.
 */
export interface Step {
  readonly afterMs: number;
  readonly bytes?: string;
  readonly ending?: 'break' | 'silence';
}

/** A response, to be played step by step. */
export interface Script {
  readonly status: number;
  readonly contentType: string;
  /** Until the response headers, in milliseconds. */
  readonly delayMs: number;
  readonly steps: Iterable<Step>;
}

/** What differs from one response to the next. */
export interface MockContext {
  readonly id: string;
  readonly createdS: number;
}

interface Answer {
  readonly request: ChatRequest;
  readonly context: MockContext;
  readonly directives: Directives;
  readonly words: readonly string[];
  readonly toolCall: { readonly id: string; readonly name: string } | undefined;
  readonly finishReason: string;
  readonly usage: Record<string, unknown> | undefined;
}

/** The response to a request. */
export function mockScript(request: ChatRequest, context: MockContext): Script {
  const prompt = lastUserText(request);
  const directives = readDirectives(prompt);
  const { errorStatus, delayMs } = directives;
  if (errorStatus !== undefined) {
    const body = errorJson(`The mock provider responded with status ${errorStatus}, as the prompt asked.`, errorStatus);
    return { status: errorStatus, contentType: 'application/json', delayMs, steps: [{ afterMs: 0, bytes: body }] };
  }
  const answer = compose(request, context, prompt, directives);
  return request.stream
    ? { status: 200, contentType: 'text/event-stream', delayMs, steps: streamSteps(answer) }
    : { status: 200, contentType: 'application/json', delayMs, steps: jsonSteps(answer) };
}

function compose(request: ChatRequest, context: MockContext, prompt: string, directives: Directives): Answer {
  const tool = directives.callTool ? request.tools.find(isObject)?.function : undefined;
  const toolCall = isObject(tool) ? { id: `call_${context.id}`, name: String(tool.name) } : undefined;
  const all = toolCall === undefined ? wordsOf(request, prompt, directives) : [];
  const words = all.slice(0, request.maxOutput ?? all.length);
  const finishReason = toolCall !== undefined ? 'tool_calls' : words.length < all.length ? 'length' : 'stop';
  const promptTokens = estimateInput(request);
  const completionTokens = Math.max(1, words.length) * request.choices;
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  return {
    request,
    context,
    directives,
    words,
    toolCall,
    finishReason,
    usage: directives.reportUsage ? usage : undefined,
  };
}

/** The words of the answer, each with the space before it. One word counts as one token. */
function wordsOf(request: ChatRequest, prompt: string, directives: Directives): string[] {
  if (directives.words !== undefined)
    return Array.from({ length: directives.words }, (_, i) => (i === 0 ? 'word' : ' word'));
  return textOf(request, prompt, directives).match(/\s*\S+/g) ?? [];
}

function textOf(request: ChatRequest, prompt: string, directives: Directives): string {
  if (directives.help) {
    const lines = DIRECTIVES.map(([usage, meaning]) => `${usage}: ${meaning}`);
    return `I am the mock provider. Put any of these into your last message:\n${lines.join('\n')}`;
  }
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;
  const received = `${count(request.messages.length, 'message')}, ${count(request.tools.length, 'tool')}`;
  return `You said: ${prompt === '' ? '(nothing)' : prompt}\n(The mock provider received ${received}. Say /help for what else it does.)`;
}

function lastUserText(request: ChatRequest): string {
  const message = request.messages.findLast(({ role }) => role === 'user');
  const content = message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join(' ')
    .trim();
}

function* jsonSteps(answer: Answer): Generator<Step> {
  const { request, context, directives, words } = answer;
  const message = { role: 'assistant', content: answer.toolCall ? null : words.join(''), ...toolCallsOf(answer) };
  const body = JSON.stringify({
    id: context.id,
    object: 'chat.completion',
    created: context.createdS,
    model: request.model,
    choices: Array.from({ length: request.choices }, (_, index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: answer.finishReason,
    })),
    ...(answer.usage && { usage: answer.usage }),
  });
  const stop = directives.cutAfter ?? directives.failAfter ?? directives.stallAfter;
  const afterMs = directives.paceMs * words.length;
  if (stop === undefined) yield { afterMs, bytes: body };
  else
    yield {
      afterMs,
      bytes: body.slice(0, body.length >> 1),
      ending: directives.stallAfter === undefined ? 'break' : 'silence',
    };
}

function toolCallsOf({ toolCall }: Answer): Record<string, unknown> {
  if (toolCall === undefined) return {};
  return {
    tool_calls: [{ index: 0, id: toolCall.id, type: 'function', function: { name: toolCall.name, arguments: '{}' } }],
  };
}

function* streamSteps(answer: Answer): Generator<Step> {
  const { request, directives, words } = answer;
  const indexes = Array.from({ length: request.choices }, (_, index) => index);
  const event = (fields: Record<string, unknown>) => dataEvent(chunkJson(answer, fields));
  const all = (delta: Record<string, unknown>, finishReason: string | null = null) =>
    indexes.map((index) => event({ choices: [{ index, delta, finish_reason: finishReason }] })).join('');
  yield { afterMs: 0, bytes: all({ role: 'assistant', content: '', ...toolCallsOf(answer) }) };
  for (const [index, word] of words.entries()) {
    const stop = stopAt(index, directives);
    if (stop !== undefined) return yield stop;
    yield { afterMs: index === 0 ? 0 : directives.paceMs, bytes: all({ content: word }) };
  }
  const stop = stopAt(words.length, directives);
  if (stop !== undefined) return yield stop;
  const usage = answer.usage === undefined ? '' : event({ choices: [], usage: answer.usage });
  yield { afterMs: 0, bytes: all({}, answer.finishReason) + usage + DONE_EVENT };
}

function chunkJson({ request, context }: Answer, fields: Record<string, unknown>): string {
  const head = { id: context.id, object: 'chat.completion.chunk', created: context.createdS, model: request.model };
  return JSON.stringify({ ...head, ...fields });
}

/** The step that the prompt asks for after this many words, if any. */
function stopAt(words: number, directives: Directives): Step | undefined {
  if (directives.cutAfter === words) return { afterMs: 0, ending: 'break' };
  if (directives.stallAfter === words) return { afterMs: 0, ending: 'silence' };
  if (directives.failAfter === words) {
    return {
      afterMs: 0,
      bytes: dataEvent(errorJson('The mock provider failed mid-stream, as the prompt asked.', 500)),
    };
  }
  return undefined;
}

function errorJson(message: string, status: number): string {
  return JSON.stringify({ error: { message, type: 'mock_error', param: null, code: status } });
}
