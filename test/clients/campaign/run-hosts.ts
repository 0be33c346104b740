/**
 * The hosts of the shipped config at one address: OpenAI's, Anthropic's and Google's formats. Their model follows a script of
 * tool calls and texts, or every request fails in one way. Every answer is billed.
 */
import { isObject, parseJson } from '../../../src/core/json.ts';
import { FakeUpstream, type UpstreamCall } from '../../support/fake-upstream.ts';
import type { ToolCall } from './agents.ts';
import {
  chatAnswer,
  chatChunks,
  DONE_WORDS,
  type Fields,
  geminiAnswer,
  message,
  messagesEvents,
  nextCall,
  response,
  responseEvents,
  type Step,
  type Usage,
} from './scripted-answers.ts';

/** `key`: each request is refused by 401. `key later`: only requests to models are. `context`: the input is too long. */
export type Fault = 'key' | 'key later' | 'context';

export interface HostScript {
  /** What the model calls, one tool with each answer. */
  readonly calls?: readonly ToolCall[];
  /** What it says in place of calls, for an agent whose edits are text. */
  readonly texts?: readonly string[];
  readonly fault?: Fault;
  /** Tokens of input that the first answer is billed beside its own. */
  readonly extraInput?: (model: string) => number;
}

export interface Billed {
  readonly model: string;
  readonly usage: Usage;
}

type HostDialect = 'chat' | 'responses' | 'messages' | 'gemini';

export class RunHosts {
  readonly #server: FakeUpstream;
  #script: HostScript = {};
  #billed: Billed[] = [];
  #firstAtMs: number | undefined;

  private constructor(server: FakeUpstream) {
    this.#server = server;
  }

  static async start(): Promise<RunHosts> {
    const server = await FakeUpstream.start();
    const hosts = new RunHosts(server);
    server.follow((call) => hosts.#take(call));
    return hosts;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** Every answer since the script was set. */
  get billed(): readonly Billed[] {
    return this.#billed;
  }

  /** When the first request for an answer came: it failed, or its answer spent the budget. */
  get firstAtMs(): number | undefined {
    return this.#firstAtMs;
  }

  follow(script: HostScript): void {
    this.#script = script;
    this.#billed = [];
    this.#firstAtMs = undefined;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #take(call: UpstreamCall): void {
    const [path = ''] = call.path.split('?');
    const dialect = dialectOf(path);
    if (dialect !== undefined) this.#firstAtMs ??= performance.now();
    const isProven = ['authorization', 'x-api-key', 'x-goog-api-key'].some((name) => call.header(name) !== undefined);
    const { fault } = this.#script;
    if (!isProven || fault === 'key' || (fault === 'key later' && dialect !== undefined)) return refuseKey(call);
    if (call.method === 'GET') return call.answer(200, { object: 'list', data: [], models: [] });
    const body = parseJson(call.body)?.value;
    if (path.endsWith('/count_tokens')) return call.answer(200, { input_tokens: 1_000 });
    if (dialect === undefined || !isObject(body)) return call.answer(404, { error: { message: 'No such path.' } });
    if (fault === 'context') return refuseContext(call, dialect, body);
    const model = String(body.model ?? /\/models\/([^/:]+):/.exec(path)?.[1]);
    const step = this.#next(model, dialect, body);
    answer(call, dialect, body, step);
    this.#billed.push({ model, usage: step.usage });
  }

  #next(model: string, dialect: HostDialect, body: Fields): Step {
    const { calls = [], texts = [], extraInput } = this.#script;
    const number = this.#billed.length;
    const next = nextCall(calls, body);
    const extra = number === 0 ? (extraInput?.(model) ?? 0) : 0;
    return {
      call: next && { ...next, id: `call_${number}` },
      words: texts[number] ?? DONE_WORDS,
      usage: {
        ...{ plain: 1_000 + number + extra, cached: 100 + 10 * number, output: 20 + 3 * number },
        // Only hosts of messages bill what they write to a cache.
        written: dialect === 'messages' ? 30 + 7 * number : 0,
      },
    };
  }
}

function dialectOf(path: string): HostDialect | undefined {
  if (/:(?:streamG|g)enerateContent$/.test(path)) return 'gemini';
  const last = path.split('/').at(-1);
  if (last === 'completions') return 'chat';
  return last === 'responses' || last === 'messages' ? last : undefined;
}

function isStreamed(call: UpstreamCall, dialect: HostDialect, body: Fields): boolean {
  return dialect === 'gemini' ? call.path.includes(':streamGenerateContent') : body.stream === true;
}

function answer(call: UpstreamCall, dialect: HostDialect, body: Fields, step: Step): void {
  if (!isStreamed(call, dialect, body)) return call.answer(200, WHOLE[dialect](step));
  stream(call, dialect, EVENTS[dialect](step));
}

const WHOLE: Readonly<Record<HostDialect, (step: Step) => object>> = {
  ...{ chat: chatAnswer, messages: message, gemini: geminiAnswer },
  responses: (step) => response(step),
};
const EVENTS: Readonly<Record<HostDialect, (step: Step) => readonly object[]>> = {
  ...{ chat: chatChunks, messages: messagesEvents, responses: responseEvents },
  gemini: (step) => [geminiAnswer(step)],
};

function stream(call: UpstreamCall, dialect: HostDialect, events: readonly object[]): void {
  call.stream();
  for (const event of events) {
    const name = 'type' in event ? `event: ${event.type}\n` : '';
    call.send(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  if (dialect === 'chat') call.send('data: [DONE]\n\n');
  call.end();
}

function refuseKey(call: UpstreamCall): void {
  const message = 'Incorrect API key provided: sk-wrong. You can find your API key at the website.';
  call.answer(401, {
    error: { message, type: 'invalid_request_error', code: 'invalid_api_key', status: 'UNAUTHENTICATED' },
  });
}

/** In the words of the vendors' own APIs. */
function refuseContext(call: UpstreamCall, dialect: HostDialect, body: Fields): void {
  const code = 'context_length_exceeded';
  const message = 'Your input exceeds the context window of this model. Please adjust your input and try again.';
  switch (dialect) {
    case 'chat': {
      const figures =
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 200123 tokens.";
      const error = { message: `${figures} Please reduce the length of the messages.`, code };
      return call.answer(400, { error: { ...error, type: 'invalid_request_error', param: 'messages' } });
    }
    case 'messages': {
      const error = { type: 'invalid_request_error', message: 'prompt is too long: 200123 tokens > 200000 maximum' };
      return call.answer(400, { type: 'error', error, request_id: 'req_1' });
    }
    case 'gemini': {
      const figures = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
      return call.answer(400, { error: { code: 400, status: 'INVALID_ARGUMENT', message: figures } });
    }
    case 'responses': {
      if (body.stream !== true) return call.answer(400, { error: { message, code, type: 'invalid_request_error' } });
      const begun = { id: 'resp_1', object: 'response', created_at: 1, model: 'vendor-1', output: [], usage: null };
      return stream(call, dialect, [
        { type: 'response.created', sequence_number: 0, response: { ...begun, status: 'in_progress', error: null } },
        {
          type: 'response.failed',
          sequence_number: 1,
          response: { ...begun, status: 'failed', error: { code, message } },
        },
      ]);
    }
  }
}
