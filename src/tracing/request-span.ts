/** Builds the spans of a request, with attributes named by OpenTelemetry's semantic conventions. */
import type { Nanos } from '../core/money.ts';
import { printableName } from '../core/printable.ts';
import type {
  AdmissionVerdict,
  AskedLease,
  AttemptFacts,
  AttemptTrace,
  RequestTrace,
  SettledEnd,
} from '../core/request-trace.ts';
import { RecordedAttempt } from './attempt-span.ts';
import { headersOf, newSpanId, type TraceContext } from './context.ts';
import { addressOf, type TracedHost } from './host.ts';
import { Attributes, KIND, type Span, spanJson } from './otlp.ts';

/** Request data known at its start. */
export interface RequestHead {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** The path template; undefined for an unknown path. */
  readonly route: string | undefined;
  /** The Host header. */
  readonly host: string | undefined;
  readonly userAgent: string | undefined;
  readonly httpVersion: string;
}

/** Request data known at its end. */
export interface RequestTail {
  readonly keyId: string | undefined;
  /** The requested model. */
  readonly model: string | undefined;
  /** Undefined if the client hung up before it was sent. */
  readonly status: number | undefined;
  /** The code of the error response. */
  readonly code: string | undefined;
  readonly isGone: boolean;
}

/** Caches the last result, because consecutive requests often have equal Host and User-Agent headers. */
function rememberingLast<Result>(work: (text: string) => Result): (text: string) => Result {
  let last: { readonly text: string; readonly result: Result } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, result: work(text) };
    return last.result;
  };
}

const addressOfHost = rememberingLast((host) => addressOf(`http://${host}`));
const printableAgent = rememberingLast(printableName);

/** Standard methods, used in span names. Arbitrary methods would make the number of names unbounded. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE']);

/** Propagates the context without recording spans. */
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
  // The wall clock is read once per trace; later times use the monotonic clock, so that a clock adjustment cannot distort spans.
  readonly #startMs = Date.now();
  readonly #offsetMs = this.#startMs - performance.now();
  #admission:
    | { startMs: number; endMs: number; asked: AskedLease; user: string; verdict: AdmissionVerdict | undefined }
    | undefined;
  readonly #attempts: RecordedAttempt[] = [];
  #end: SettledEnd | undefined;

  constructor(context: TraceContext, head: RequestHead, hosts: ReadonlyMap<string, TracedHost>) {
    this.#context = context;
    this.#head = head;
    this.#hosts = hosts;
  }

  askAdmission(asked: AskedLease, user: string): void {
    const nowMs = this.#nowMs();
    this.#admission = { startMs: this.#admission?.startMs ?? nowMs, endMs: nowMs, asked, user, verdict: undefined };
  }

  answerAdmission(verdict: AdmissionVerdict): void {
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

  /** Returns all spans as JSON, in a list without brackets. */
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
    const server = host === undefined ? undefined : addressOfHost(host);
    // A refusal (4xx) is not a server error. A stream can fail after its status 200.
    const isError = code !== undefined && status !== undefined && (status >= 500 || status < 300);
    const attributes = new Attributes()
      .text('http.request.method', isKnown ? method : '_OTHER')
      .text('url.scheme', 'http')
      .text('url.path', path === route ? path : printableName(path))
      .text('http.route', route)
      .int('http.response.status_code', status)
      .text('network.protocol.version', httpVersion)
      .text('server.address', server?.address)
      .int('server.port', server?.port)
      .text('user_agent.original', userAgent === undefined ? undefined : printableAgent(userAgent))
      .texts('http.response.header.x-request-id', [requestId])
      .text('error.type', isError ? code : undefined)
      .text('inf_gw.error.code', code)
      .text('inf_gw.key.id', keyId)
      .texts('inf_gw.groups', this.#admission?.verdict?.groups?.map(groupText))
      .text('enduser.id', printableUser(this.#admission?.user))
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
      .text('inf_gw.admission.verdict', verdict?.verdict ?? 'internal_error')
      .text('inf_gw.admission.level', verdict?.level && levelText(verdict.level))
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

/** Spelled with `@`, like in commands. */
function groupText(name: string): string {
  return `@${printableName(name)}`;
}

/** Returns undefined for an empty name. */
function printableUser(user = ''): string | undefined {
  return user === '' ? undefined : printableName(user);
}

/** Leaves out the end user's name, which is in `enduser.id`. */
function levelText({ kind, name }: NonNullable<AdmissionVerdict['level']>): string {
  if (kind === 'group') return groupText(name);
  return kind === 'user' ? 'end user' : printableName(name);
}

/** Converts for display; only the ledger is exact. */
function usd(nanos: Nanos): number {
  return Number(nanos) / 1e9;
}
