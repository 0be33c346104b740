/** The spans of one request, from what it tells, as the semantic conventions of OpenTelemetry name them. */
import type { DialectName } from '../core/dialects.ts';
import type { Nanos } from '../core/money.ts';
import { printableName } from '../core/printable.ts';
import type {
  AskedLease,
  AttemptEnd,
  AttemptFacts,
  AttemptTrace,
  RequestTrace,
  SettledEnd,
} from '../core/request-trace.ts';
import { isErrorOutcome } from '../core/settlement.ts';
import { cacheWritesOf } from '../core/usage.ts';
import { headersOf, newSpanId, type TraceContext } from './context.ts';
import { Attributes, KIND, type Span, type SpanEvent, spanJson } from './otlp.ts';

/** An upstream, as traces show it. */
export interface TracedHost {
  /** `gen_ai.provider.name`: whose protocol it speaks. */
  readonly provider: string;
  /** Undefined if it is in this process. */
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** The beginning of a request. */
export interface RequestHead {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Undefined if there is no such path. */
  readonly route: string | undefined;
  /** As the client named this server. */
  readonly host: string | undefined;
  readonly userAgent: string | undefined;
  readonly httpVersion: string;
}

/** The end of a request: what was sent, and to whom. */
export interface RequestTail {
  readonly keyId: string | undefined;
  /** The model that the request names. */
  readonly model: string | undefined;
  /** Undefined if the client left before it was sent. */
  readonly status: number | undefined;
  /** The code of the error that was sent. */
  readonly code: string | undefined;
  readonly isGone: boolean;
}

/** Methods by which spans are named; others could be anything. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE']);

/** Only passes the context on. */
export class UnrecordedTrace implements RequestTrace {
  readonly #context: TraceContext;

  constructor(context: TraceContext) {
    this.#context = context;
  }

  askAdmission(): void {}
  answerAdmission(): void {}
  settle(): void {}

  attempt(): AttemptTrace {
    const headers = headersOf(this.#context, this.#context.parentId ?? newSpanId());
    return { headers, receiveHead: () => {}, end: () => {} };
  }
}

export class RecordedTrace implements RequestTrace {
  readonly #context: TraceContext;
  readonly #head: RequestHead;
  readonly #hosts: ReadonlyMap<string, TracedHost>;
  readonly #id = newSpanId();
  // A clock that is set would bend spans, so it is read once.
  readonly #startMs = Date.now();
  readonly #offsetMs = this.#startMs - performance.now();
  #admission: { startMs: number; endMs: number; asked: AskedLease; verdict: string | undefined } | undefined;
  readonly #attempts: RecordedAttempt[] = [];
  #end: SettledEnd | undefined;

  constructor(context: TraceContext, head: RequestHead, hosts: ReadonlyMap<string, TracedHost>) {
    this.#context = context;
    this.#head = head;
    this.#hosts = hosts;
  }

  askAdmission(asked: AskedLease): void {
    const nowMs = this.#nowMs();
    this.#admission = { startMs: this.#admission?.startMs ?? nowMs, endMs: nowMs, asked, verdict: undefined };
  }

  answerAdmission(verdict: string): void {
    if (this.#admission !== undefined) Object.assign(this.#admission, { verdict, endMs: this.#nowMs() });
  }

  attempt(facts: AttemptFacts): AttemptTrace {
    const id = newSpanId();
    const headers = headersOf(this.#context, id);
    const attempt = new RecordedAttempt(id, headers, facts, this.#attempts.length, () => this.#nowMs());
    this.#attempts.push(attempt);
    return attempt;
  }

  settle(end: SettledEnd): void {
    this.#end = end;
  }

  /** All its spans as JSON, in a list without brackets. */
  finish(tail: RequestTail): { readonly json: string; readonly spans: number } {
    const last = this.#attempts.at(-1);
    const spans = [
      this.#requestSpan(tail),
      ...this.#admissionSpan(),
      ...this.#attempts.flatMap((attempt) =>
        attempt.spans(
          { traceId: this.#context.traceId, parentId: this.#id, state: this.#context.state },
          this.#hosts.get(attempt.facts.upstream),
          attempt === last ? this.#end : undefined,
          this.#nowMs(),
        ),
      ),
    ];
    return { json: spans.map(spanJson).join(), spans: spans.length };
  }

  #requestSpan({ keyId, model, status, code, isGone }: RequestTail): Span {
    const { requestId, method, path, route, host, userAgent, httpVersion } = this.#head;
    const { traceId, parentId, state } = this.#context;
    const isKnown = METHODS.has(method);
    const server = host === undefined ? undefined : addressOf(`http://${host}`);
    // Refusals are no errors of a server. A stream can fail after its status.
    const isError = code !== undefined && status !== undefined && (status >= 500 || status < 300);
    const attributes = new Attributes()
      .text('http.request.method', isKnown ? method : '_OTHER')
      .text('url.scheme', 'http')
      .text('url.path', printableName(path))
      .text('http.route', route)
      .int('http.response.status_code', status)
      .text('network.protocol.version', httpVersion)
      .text('server.address', server?.address)
      .int('server.port', server?.port)
      .text('user_agent.original', userAgent === undefined ? undefined : printableName(userAgent))
      .texts('http.response.header.x-request-id', [requestId])
      .text('error.type', isError ? code : undefined)
      .text('inf_gw.error.code', code)
      .text('inf_gw.key.id', keyId)
      .text('inf_gw.model', model)
      .text('inf_gw.outcome', this.#end?.outcome)
      .flag('inf_gw.client_left', isGone || undefined)
      .double('inf_gw.cost_usd', this.#end && usd(this.#end.costNanos));
    return {
      traceId,
      id: this.#id,
      parentId,
      isParentRemote: parentId !== undefined,
      state,
      name: [isKnown ? method : 'HTTP', route].filter((part) => part !== undefined).join(' '),
      kind: KIND.server,
      startMs: this.#startMs,
      endMs: this.#nowMs(),
      attributes,
      isError,
    };
  }

  #admissionSpan(): Span[] {
    if (this.#admission === undefined) return [];
    const { startMs, endMs, asked, verdict } = this.#admission;
    const { traceId, state } = this.#context;
    const attributes = new Attributes()
      .text('inf_gw.admission.verdict', verdict ?? 'internal_error')
      .int('inf_gw.admission.reserved_tokens', asked.reservedTokens)
      .double('inf_gw.admission.hold_usd', usd(asked.holdNanos))
      .text('error.type', verdict === undefined ? 'internal_error' : undefined);
    return [
      {
        traceId,
        id: newSpanId(),
        parentId: this.#id,
        state,
        name: 'admission',
        kind: KIND.internal,
        startMs,
        endMs,
        attributes,
        isError: verdict === undefined,
      },
    ];
  }

  #nowMs(): number {
    return this.#offsetMs + performance.now();
  }
}

/** The fields that all spans of a request have in common. */
type Place = Pick<Span, 'traceId' | 'parentId' | 'state'>;

const OPERATIONS: Readonly<Record<DialectName, string>> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  embeddings: 'embeddings',
};

class RecordedAttempt implements AttemptTrace {
  readonly headers: Readonly<Record<string, string>>;
  readonly facts: AttemptFacts;
  readonly #id: string;
  /** From 0. */
  readonly #number: number;
  readonly #now: () => number;
  readonly #startMs: number;
  #head: { readonly status: number; readonly atMs: number } | undefined;
  #end: (AttemptEnd & { readonly atMs: number }) | undefined;

  constructor(
    id: string,
    headers: Readonly<Record<string, string>>,
    facts: AttemptFacts,
    number: number,
    now: () => number,
  ) {
    this.#id = id;
    this.headers = headers;
    this.facts = facts;
    this.#number = number;
    this.#now = now;
    this.#startMs = now();
  }

  receiveHead(status: number): void {
    this.#head = { status, atMs: this.#now() };
  }

  end(end: AttemptEnd): void {
    this.#end = { ...end, atMs: this.#now() };
  }

  /** `settled`: for the attempt that the request was settled by. */
  spans(place: Place, host: TracedHost | undefined, settled: SettledEnd | undefined, nowMs: number): Span[] {
    const endMs = this.#end?.atMs ?? nowMs;
    const span = this.#callSpan(place, host, settled, endMs);
    const relay = this.#relaySpan({ ...place, parentId: this.#id }, endMs);
    return relay === undefined ? [span] : [span, relay];
  }

  #callSpan(place: Place, host: TracedHost | undefined, settled: SettledEnd | undefined, endMs: number): Span {
    const { model, dialect, stream, choices, maxOutput, upstream } = this.facts;
    const { firstByteMs, completionId, outcome } = this.#end ?? {};
    const operation = OPERATIONS[dialect];
    const errorType = this.#errorType();
    const attributes = new Attributes()
      .text('gen_ai.operation.name', operation)
      .text('gen_ai.provider.name', host?.provider ?? upstream)
      .text('gen_ai.request.model', model)
      .int('gen_ai.request.max_tokens', maxOutput)
      .int('gen_ai.request.choice.count', choices === 1 ? undefined : choices)
      .flag('gen_ai.request.stream', stream || undefined)
      .text('gen_ai.response.id', completionId)
      .text('gen_ai.response.model', this.#end?.model)
      .double(
        'gen_ai.response.time_to_first_chunk',
        stream && firstByteMs !== undefined ? firstByteMs / 1000 : undefined,
      )
      .text('server.address', host?.address)
      .int('server.port', host?.port)
      .int('http.response.status_code', this.#head?.status)
      .int('http.request.resend_count', this.#number === 0 ? undefined : this.#number)
      .text('error.type', errorType)
      .text('inf_gw.upstream', upstream)
      .text('inf_gw.outcome', outcome);
    if (settled !== undefined) addUsage(attributes, settled);
    return {
      ...place,
      id: this.#id,
      name: `${operation} ${model}`,
      kind: KIND.client,
      startMs: this.#startMs,
      endMs,
      attributes,
      isError: errorType !== undefined,
    };
  }

  /** From the head of the answer that the client gets to its end. A rejection that is tried again is not relayed. */
  #relaySpan(place: Place, endMs: number): Span | undefined {
    const { firstByteMs, outcome } = this.#end ?? {};
    if (this.#head === undefined || (this.#end !== undefined && outcome === undefined)) return undefined;
    const firstByte = firstByteMs === undefined ? undefined : Math.max(this.#head.atMs, this.#startMs + firstByteMs);
    const events: SpanEvent[] =
      firstByte === undefined ? [] : [{ name: 'first_byte', atMs: Math.min(firstByte, endMs) }];
    const errorType = this.#errorType();
    return {
      ...place,
      id: newSpanId(),
      name: 'relay',
      kind: KIND.internal,
      startMs: this.#head.atMs,
      endMs,
      attributes: new Attributes().text('error.type', errorType).text('inf_gw.outcome', outcome),
      events,
      isError: errorType !== undefined,
    };
  }

  /** The status where the upstream has answered with an error, else what went wrong. */
  #errorType(): string | undefined {
    const { status = 0 } = this.#head ?? {};
    if (status >= 400) return String(status);
    const { cause, outcome } = this.#end ?? {};
    return cause ?? (outcome !== undefined && isErrorOutcome(outcome) ? outcome : undefined);
  }
}

function addUsage(attributes: Attributes, { usage, source }: SettledEnd): void {
  const written = cacheWritesOf(usage);
  attributes
    .int('gen_ai.usage.input_tokens', usage.promptTokens)
    .int('gen_ai.usage.output_tokens', usage.completionTokens)
    .int('gen_ai.usage.cache_read.input_tokens', usage.cachedTokens === 0 ? undefined : usage.cachedTokens)
    .int('gen_ai.usage.cache_creation.input_tokens', written === 0 ? undefined : written)
    .text('inf_gw.usage.source', source);
}

/** For charts: the ledger alone is exact. */
function usd(nanos: Nanos): number {
  return Number(nanos) / 1e9;
}

/** The name and the port of a server. Undefined if the text is no address. */
export function addressOf(text: string): { readonly address: string; readonly port: number } | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { address: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
}
