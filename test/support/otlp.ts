/**
 * A collector that reads OTLP/JSON as strictly as its definition (`trace.proto`, `common.proto`,
 * `resource.proto` and the rules for JSON): nothing unknown, nothing missing, every value in its form.
 */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './wait.ts';

export type AttributeValue = string | number | boolean | readonly AttributeValue[];

export interface ReadSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly flags: number;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly events: readonly { readonly name: string; readonly nanos: bigint }[];
  readonly isError: boolean;
}

export interface ReadExport {
  readonly resource: Readonly<Record<string, AttributeValue>>;
  readonly spans: readonly ReadSpan[];
}

type Json = Record<string, unknown>;

const KINDS = [undefined, 'internal', 'server', 'client'] as const;

/** An object with these members and no other; those with a question mark may be missing. */
function members(value: unknown, names: string): Json {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), `${names}: ${value}`);
  const object = value as Json;
  const all = names.split(' ');
  const known = all.map((name) => name.replace('?', ''));
  for (const name of Object.keys(object)) assert.ok(known.includes(name), `${name} is no member of ${names}`);
  for (const name of all) assert.ok(name.endsWith('?') || Object.hasOwn(object, name), `${name} is missing`);
  return object;
}

function text(value: unknown): string {
  assert.equal(typeof value, 'string');
  return value as string;
}

function list(value: unknown): readonly unknown[] {
  assert.ok(Array.isArray(value));
  return value;
}

function id(value: unknown, digits: number): string {
  assert.match(text(value), new RegExp(`^(?!0+$)[0-9a-f]{${digits}}$`));
  return value as string;
}

/** A 64-bit whole number, which is a text in JSON. */
function long(value: unknown): bigint {
  assert.match(text(value), /^(?:0|[1-9]\d*)$/);
  return BigInt(value as string);
}

function anyValue(value: unknown): AttributeValue {
  const entries = Object.entries(members(value, 'stringValue? boolValue? intValue? doubleValue? arrayValue?'));
  assert.equal(entries.length, 1);
  const [kind, inner] = entries[0] as [string, unknown];
  if (kind === 'intValue') return Number(long(inner));
  if (kind === 'arrayValue') return list(members(inner, 'values').values).map(anyValue);
  assert.equal(`${typeof inner}Value`, kind.replace('double', 'number').replace('bool', 'boolean'));
  return inner as AttributeValue;
}

function attributes(value: unknown): Record<string, AttributeValue> {
  const entries = list(value).map((each) => {
    const { key, value } = members(each, 'key value');
    assert.notEqual(text(key), '');
    return [key as string, anyValue(value)] as const;
  });
  assert.equal(new Set(entries.map(([key]) => key)).size, entries.length, 'an attribute comes twice');
  return Object.fromEntries(entries);
}

function readSpan(value: unknown): ReadSpan {
  const span = members(
    value,
    'traceId spanId parentSpanId? traceState? flags name kind startTimeUnixNano endTimeUnixNano attributes events? status',
  );
  const { code = 0 } = members(span.status, 'code?');
  assert.ok(code === 0 || code === 2);
  const [startNanos, endNanos] = [long(span.startTimeUnixNano), long(span.endTimeUnixNano)];
  assert.ok(startNanos <= endNanos, 'it ends before it begins');
  const events = list(span.events ?? []).map((event) => {
    const { timeUnixNano, name } = members(event, 'timeUnixNano name');
    const nanos = long(timeUnixNano);
    assert.ok(startNanos <= nanos && nanos <= endNanos, 'an event outside of its span');
    return { name: text(name), nanos };
  });
  const kind = KINDS[span.kind as number];
  assert.ok(kind !== undefined);
  assert.notEqual(text(span.name), '');
  return {
    traceId: id(span.traceId, 32),
    spanId: id(span.spanId, 16),
    parentSpanId: span.parentSpanId === undefined ? undefined : id(span.parentSpanId, 16),
    traceState: span.traceState === undefined ? undefined : text(span.traceState),
    flags: span.flags as number,
    name: span.name as string,
    kind,
    startNanos,
    endNanos,
    attributes: attributes(span.attributes),
    events,
    isError: code === 2,
  };
}

function readExport(body: string): ReadExport {
  const [resourceSpans, ...others] = list(members(JSON.parse(body), 'resourceSpans').resourceSpans);
  assert.equal(others.length, 0);
  const { resource, scopeSpans } = members(resourceSpans, 'resource scopeSpans');
  const [scope] = list(scopeSpans);
  const { scope: by, spans } = members(scope, 'scope spans');
  text(members(by, 'name version').version);
  return { resource: attributes(members(resource, 'attributes').attributes), spans: list(spans).map(readSpan) };
}

/** What the collector answers: a status, and perhaps more. `silent`: nothing. */
export type CollectorAnswer =
  | 'silent'
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> };

export class TestCollector {
  readonly exports: (ReadExport & { readonly headers: IncomingHttpHeaders; readonly path: string })[] = [];
  /** For requests from now on. The last one is repeated. */
  answers: CollectorAnswer[] = [{ status: 200, body: '{}' }];
  readonly #server: Server;
  #fault: unknown;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece);
      try {
        const read = readExport(Buffer.concat(pieces).toString());
        this.exports.push({ ...read, headers: request.headers, path: request.url ?? '' });
      } catch (error) {
        this.#fault ??= error;
      }
      const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
      if (answer === 'silent' || answer === undefined) return;
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  }

  static async start(): Promise<TestCollector> {
    const collector = new TestCollector();
    await new Promise<void>((resolve) => collector.#server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get spans(): ReadSpan[] {
    return this.exports.flatMap(({ spans }) => spans);
  }

  async exported(count: number): Promise<void> {
    await until(() => this.exports.length >= count || this.#fault !== undefined);
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Throws what was wrong with an export. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    if (this.#fault !== undefined) throw this.#fault;
  }
}
