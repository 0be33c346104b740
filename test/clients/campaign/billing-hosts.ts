/**
 * Hosts of Bedrock, Vertex AI, Google's dialect and chat whose model edits a file: it calls the tools that it is told to, one
 * with each answer, and then says that it is done. They bill every answer, and remember what.
 */
import { isObject, parseJson } from '../../../src/core/json.ts';
import {
  askedConverse,
  chunkFrame,
  expectedSignature,
  refuse as refuseAtBedrock,
  signatureOf,
  streamFrames,
} from '../../support/fake-bedrock.ts';
import { FakeUpstream, type UpstreamCall } from '../../support/fake-upstream.ts';
import { askedGemini, refuse as refuseAtGoogle, vertex } from '../../support/fake-vertex.ts';
import type { ToolCall } from './agents.ts';
import {
  chatAnswer,
  chatChunks,
  converseAnswer,
  converseEvents,
  DONE_WORDS,
  type Fields,
  geminiAnswer,
  message,
  messagesEvents,
  nextCall,
  type Step,
} from './scripted-answers.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const TOKEN = '/computeMetadata/v1/instance/service-accounts/default/token';

/** In nanodollars a token, and as the config has them. */
const NANOS = { plain: 1_000, cached: 100, written: 1_250, output: 5_000 };
const PRICES =
  'input: 1, cached_input: 0.1, cache_write: 1.25, cache_write_1h: 2, output: 5, context_window: 200000, max_output: 32000, tools: { web_search: 0.01 }';

/** What all answers since the script was set were billed. */
export interface Bill {
  requests: number;
  /** With what was read from a cache and written to one. */
  inputTokens: number;
  outputTokens: number;
  nanos: number;
}

export class BillingHosts {
  readonly #server: FakeUpstream;
  #calls: readonly ToolCall[] = [];
  #bill: Bill = { requests: 0, inputTokens: 0, outputTokens: 0, nanos: 0 };

  private constructor(server: FakeUpstream) {
    this.#server = server;
  }

  static async start(): Promise<BillingHosts> {
    const server = await FakeUpstream.start();
    const hosts = new BillingHosts(server);
    server.follow((call) => hosts.#take(call));
    return hosts;
  }

  get bill(): Bill {
    return this.#bill;
  }

  /** What the model calls from now on. A new bill begins. */
  script(calls: readonly ToolCall[]): void {
    this.#calls = calls;
    this.#bill = { requests: 0, inputTokens: 0, outputTokens: 0, nanos: 0 };
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  /** Newer models of Claude take one of temperature and `top_p`. */
  get config(): string {
    const at = `http://127.0.0.1:${this.#server.port}`;
    const model = (upstream: string, others = '') => `{ upstream: "${upstream}", ${PRICES}${others} }`;
    const claude = (upstream: string) => model(upstream, ', ignore_fields: [top_p]');
    return `listen: 127.0.0.1:0
state: ./state.db
credit: off
providers:
  bedrock:
    kind: bedrock
    region: eu-west-1
    base_url: ${at}
    models:
      claude: ${claude('eu.anthropic.claude-sonnet-5-v1:0')}
      nova: ${model('us.amazon.nova-2-lite-v1:0')}
  vertex:
    kind: vertex
    project: my-project
    region: europe-west1
    base_url: ${at}/v1/projects/my-project/locations/europe-west1
    models:
      claude: ${claude('claude-sonnet-4-5@20250929')}
      gemini: ${model('gemini-3.6-flash')}
  google: { kind: gemini, base_url: "${at}/v1beta", api_key: key-of-google, models: { gemini: ${model('gemini-3.6-flash')} } }
  chat: { kind: openai, dialects: [chat], base_url: "${at}/v1", models: { echo: ${model('vendor-echo-1')} } }
`;
  }

  /** Where the gateway finds what it proves itself with. */
  get environment(): NodeJS.ProcessEnv {
    return {
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: SECRET,
      GCE_METADATA_HOST: `127.0.0.1:${this.#server.port}`,
      METADATA_SERVER_DETECTION: 'assume-present',
      CLOUDSDK_CONFIG: '/nowhere',
    };
  }

  #take(call: UpstreamCall): void {
    if (call.path.startsWith(TOKEN)) {
      const token = { access_token: 'ya29.token', expires_in: 3_600, token_type: 'Bearer' };
      return call.answer(200, token, { 'metadata-flavor': 'Google' });
    }
    const body = parseJson(call.body)?.value;
    if (!isObject(body)) return call.answer(404, { error: { message: 'Nothing is here.' } });
    const step = this.#next(call.path, body);
    answer(call, body, step);
    if (call.status !== 200) return;
    const { plain, cached, written, output } = step.usage;
    const nanos = plain * NANOS.plain + cached * NANOS.cached + written * NANOS.written + output * NANOS.output;
    this.#bill = {
      requests: this.#bill.requests + 1,
      inputTokens: this.#bill.inputTokens + plain + cached + written,
      outputTokens: this.#bill.outputTokens + output,
      nanos: this.#bill.nanos + nanos,
    };
  }

  /** The call behind those that the conversation has, if the request offers its tool. */
  #next(path: string, body: Fields): Step {
    const number = this.#bill.requests;
    const call = nextCall(this.#calls, body);
    return {
      call: call && { ...call, id: `call_${number}` },
      words: DONE_WORDS,
      // No two answers take the same.
      usage: {
        ...{ plain: 1_000 + number, cached: 100 + 10 * number, output: 20 + 3 * number },
        // Google's models and those of chat cache for nothing.
        written: /^\/model\/|awPredict$/.test(path) ? 30 + 7 * number : 0,
      },
    };
  }
}

/** Answers in the dialect of the path, or refuses. */
function answer(call: UpstreamCall, body: Fields, step: Step): void {
  const [path = ''] = call.path.split('?');
  if (path.startsWith('/model/')) answerAtBedrock(call, body, step);
  else if (/\/models\/[^/]+:/.test(path)) answerAtGoogle(call, body, step);
  else if (path !== '/v1/chat/completions') call.answer(404, { error: { message: 'Nothing is here.' } });
  else if (body.stream !== true) call.answer(200, chatAnswer(step));
  else {
    call.stream();
    for (const chunk of chatChunks(step)) call.send(`data: ${JSON.stringify(chunk)}\n\n`);
    call.send('data: [DONE]\n\n');
    call.end();
  }
}

function answerAtBedrock(call: UpstreamCall, body: Fields, step: Step): void {
  const isSigned = signatureOf(call) === expectedSignature(call, SECRET);
  const why = isSigned ? faultOfClaude(body) : 'The signature does not match.';
  if (why !== undefined) refuseAtBedrock(call, 400, 'ValidationException', why);
  else if (call.path.includes('/converse')) askedConverse(call, converseAnswer(step), converseEvents(step));
  else if (call.path.endsWith('/invoke')) call.answer(200, message(step));
  else streamFrames(call, messagesEvents(step).map(chunkFrame));
}

function answerAtGoogle(call: UpstreamCall, body: Fields, step: Step): void {
  const why = faultOfClaude(body) ?? unsignedCallIn(body);
  const google = { whole: geminiAnswer(step), events: [geminiAnswer(step)] };
  const [, method = ''] = /:(\w+)/.exec(call.path) ?? [];
  if (why !== undefined) refuseAtGoogle(call, 400, 'INVALID_ARGUMENT', why);
  else if (call.path.startsWith('/v1beta/')) askedGemini(call, body, method, call.path.endsWith('?alt=sse'), google);
  else vertex({ google, anthropic: { whole: message(step), events: messagesEvents(step) } })(call);
}

/** Newer models of Claude take one of the two. */
function faultOfClaude({ temperature, top_p }: Fields): string | undefined {
  return temperature !== undefined && top_p !== undefined
    ? '`temperature` and `top_p` cannot both be specified for this model.'
    : undefined;
}

/** A model from Gemini 3 on wants the signature of the first call of each of its turns. */
function unsignedCallIn({ contents = [] }: Fields): string | undefined {
  for (const { parts } of contents as readonly { readonly parts: readonly Fields[] }[]) {
    const first = parts.find(({ functionCall }) => functionCall !== undefined);
    if (first !== undefined && first.thoughtSignature === undefined) {
      return 'Function call is missing a thought_signature in functionCall parts.';
    }
  }
  return undefined;
}
