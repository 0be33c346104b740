/** W3C Trace Context: parses and writes `traceparent` and `tracestate`, and creates new contexts. */
import { randomFillSync } from 'node:crypto';

/** The trace of a request and its parent span. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. Undefined in a new trace. */
  readonly parentId: string | undefined;
  /** Whether spans are recorded. */
  readonly isSampled: boolean;
  /** The `tracestate` of vendors, passed on unchanged. */
  readonly state: string | undefined;
}

/** Later versions may append fields, so a suffix is accepted. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ALL_ZEROS = /^0+$/;
const SAMPLED = 1;

/** The standard requires passing on at least 512 characters, and permits at most 32 members. */
const MAX_STATE_CHARACTERS = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER = /^[ \t]*(?:[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256})?[ \t]*$/;

/** Parses a client's context. Returns undefined for a missing or invalid one. */
export function contextOf(traceparent: string | undefined, tracestate: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', parentId = '', flags = '', rest] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (ALL_ZEROS.test(traceId) || ALL_ZEROS.test(parentId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  return { traceId, parentId, isSampled, state: validState(tracestate) };
}

/** Returns the state if it is valid. Receivers must reject an invalid one. */
function validState(text: string | undefined): string | undefined {
  if (text === undefined || text.length > MAX_STATE_CHARACTERS) return undefined;
  const members = text.split(',');
  const isValid = members.length <= MAX_STATE_MEMBERS && members.every((member) => STATE_MEMBER.test(member));
  return isValid && text.trim() !== '' ? text : undefined;
}

/** Creates the context of a request without one. `ratio`: the share of recorded traces. */
export function newContext(ratio: number, traceId = newTraceId()): TraceContext {
  return { traceId, parentId: undefined, isSampled: shareOf(traceId) < ratio, state: undefined };
}

/** Maps the last 52 bits of the id to 0…1, so that all gateways make the same sampling decision for a trace. */
function shareOf(traceId: string): number {
  return Number.parseInt(traceId.slice(-13), 16) / 2 ** 52;
}

/** Returns the headers of an upstream request sent in the given span. */
export function headersOf({ traceId, isSampled, state }: TraceContext, spanId: string): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId}-0${isSampled ? SAMPLED : 0}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}

// Random bytes are drawn 4 KB at a time, because a call of the generator costs as much as many ids.
const pool = Buffer.alloc(4096);
let poolOffset = pool.length;

function randomHex(bytes: number): string {
  if (poolOffset + bytes > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  poolOffset += bytes;
  return pool.toString('hex', poolOffset - bytes, poolOffset);
}

function newTraceId(): string {
  return randomHex(16);
}

export function newSpanId(): string {
  return randomHex(8);
}
