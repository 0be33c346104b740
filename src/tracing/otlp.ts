/**
 * Writes spans in OTLP JSON. The JSON is assembled as text: field names are constants, so only external strings need escaping,
 * and each is escaped once.
 */

/** Values of `Span.SpanKind`. */
export const KIND = { internal: 1, server: 2, client: 3 } as const;

/** Values of `SpanFlags`: sampled, and "whether the parent is remote is known". */
const FLAGS = 0x101;
const PARENT_IS_REMOTE = 0x200;
/** Value of `Status.StatusCode`. */
const ERROR = 2;

/** A finished span. */
export interface Span {
  readonly traceId: string;
  readonly id: string;
  readonly parentId: string | undefined;
  /** Whether the parent span is in another process. */
  readonly isParentRemote?: boolean;
  readonly state: string | undefined;
  readonly name: string;
  readonly kind: (typeof KIND)[keyof typeof KIND];
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events?: readonly SpanEvent[];
  readonly isError: boolean;
}

/** A timestamped event in a span. */
export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
}

/** Attributes of a span or a resource. Undefined values are omitted. Keys are not escaped. */
export class Attributes {
  #json = '';

  text(key: string, value: string | undefined): this {
    // Replaces lone surrogates, which are invalid in UTF-8.
    return value === undefined ? this : this.#add(key, `"stringValue":${JSON.stringify(value.toWellFormed())}`);
  }

  texts(key: string, values: readonly string[] | undefined): this {
    if (values === undefined) return this;
    const list = values.map((value) => `{"stringValue":${JSON.stringify(value.toWellFormed())}}`);
    return this.#add(key, `"arrayValue":{"values":[${list.join()}]}`);
  }

  /** Adds an integer. */
  int(key: string, value: number | undefined): this {
    return value === undefined ? this : this.#add(key, `"intValue":"${value}"`);
  }

  double(key: string, value: number | undefined): this {
    return value === undefined ? this : this.#add(key, `"doubleValue":${value}`);
  }

  flag(key: string, value: boolean | undefined): this {
    return value === undefined ? this : this.#add(key, `"boolValue":${value}`);
  }

  #add(key: string, value: string): this {
    this.#json += `${this.#json === '' ? '' : ','}{"key":"${key}","value":{${value}}}`;
    return this;
  }

  toString(): string {
    return `[${this.#json}]`;
  }
}

export function spanJson(span: Span): string {
  const { traceId, id, parentId, isParentRemote = false, state, name, kind, attributes, events = [], isError } = span;
  const flags = isParentRemote ? FLAGS | PARENT_IS_REMOTE : FLAGS;
  // Prevents a negative duration.
  const endMs = Math.max(span.startMs, span.endMs);
  const parent = parentId === undefined ? '' : `,"parentSpanId":"${parentId}"`;
  const traceState = state === undefined ? '' : `,"traceState":${JSON.stringify(state)}`;
  const list = events.length === 0 ? '' : `,"events":[${events.map(eventJson).join()}]`;
  return (
    `{"traceId":"${traceId}","spanId":"${id}"${parent}${traceState},"flags":${flags}` +
    `,"name":${JSON.stringify(name.toWellFormed())},"kind":${kind}` +
    `,"startTimeUnixNano":"${nanosOf(span.startMs)}","endTimeUnixNano":"${nanosOf(endMs)}"` +
    `,"attributes":${attributes}${list},"status":${isError ? `{"code":${ERROR}}` : '{}'}}`
  );
}

function eventJson({ name, atMs }: SpanEvent): string {
  return `{"timeUnixNano":"${nanosOf(atMs)}","name":${JSON.stringify(name)}}`;
}

/** Returns nanoseconds as a string: they exceed the exact range of a number. */
function nanosOf(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  const nanos = Math.floor((milliseconds - whole) * 1e6);
  return `${whole}${String(nanos).padStart(6, '0')}`;
}

/** The parts of an export request before and after the spans. */
export interface Envelope {
  readonly head: string;
  readonly tail: string;
}

export function envelopeOf(resource: Attributes, version: string): Envelope {
  const scope = JSON.stringify({ name: 'inf-gw', version });
  return {
    head: `{"resourceSpans":[{"resource":{"attributes":${resource}},"scopeSpans":[{"scope":${scope},"spans":[`,
    tail: ']}]}]}',
  };
}
