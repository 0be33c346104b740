/** Builds the spans of an upstream attempt, following the OpenTelemetry conventions for generative AI. */
import type { DialectName } from '../core/dialects.ts';
import type { AttemptEnd, AttemptFacts, AttemptTrace, SettledEnd } from '../core/request-trace.ts';
import { isErrorOutcome } from '../core/settlement.ts';
import { cacheWritesOf } from '../core/usage.ts';
import { newSpanId } from './context.ts';
import type { TracedHost } from './host.ts';
import { Attributes, KIND, type Span, type SpanEvent } from './otlp.ts';

/** Fields shared by all spans of a request. */
export type Place = Pick<Span, 'traceId' | 'parentId' | 'state'>;

const OPERATIONS: Readonly<Record<DialectName, string>> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  embeddings: 'embeddings',
  images: 'generate_content',
  image_edits: 'generate_content',
  speech: 'generate_content',
  transcriptions: 'transcription',
  translations: 'transcription',
  moderations: 'moderation',
  rerank: 'rerank',
  gemini: 'generate_content',
  gemini_embeddings: 'embeddings',
  converse: 'chat',
  vertex_embeddings: 'embeddings',
};

export class RecordedAttempt implements AttemptTrace {
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

  /** `settled`: the settlement, for the attempt that produced it. */
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

  /**
   * Covers the time from the response head to the end of the response. A retried rejection is not relayed, so it has no such
   * span.
   */
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

  /** Returns the HTTP status of an error response, or the cause of a failure. */
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
