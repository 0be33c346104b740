/** The context of a trace as W3C Trace Context sends it in `traceparent` and `tracestate`, and what begins a new one. */
import { randomFillSync } from 'node:crypto';

/** Where a request belongs: its trace, and the span that it is part of. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. Undefined where the trace begins here. */
  readonly parentId: string | undefined;
  /** Whether its spans are recorded. */
  readonly isSampled: boolean;
  /** What tracing systems on the way have added, for each other. */
  readonly state: string | undefined;
}

/** Later versions may append fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;
const SAMPLED = 1;

/** By the standard, at least 512 characters are to be passed on, and at most 32 members. */
const MAX_STATE_CHARACTERS = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER = /^[ \t]*(?:[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256})?[ \t]*$/;

/** The context that a client has sent. Undefined if it sent none, or none that is valid. */
export function contextOf(traceparent: string | undefined, tracestate: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', parentId = '', flags = '', rest] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(parentId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  return { traceId, parentId, isSampled, state: validState(tracestate) };
}

/** The state, unless it is one that receivers would have to reject. */
function validState(text: string | undefined): string | undefined {
  if (text === undefined || text.length > MAX_STATE_CHARACTERS) return undefined;
  const members = text.split(',');
  const isValid = members.length <= MAX_STATE_MEMBERS && members.every((member) => STATE_MEMBER.test(member));
  return isValid && text.trim() !== '' ? text : undefined;
}

/** The context of a request that came without one. `ratio`: the share of them that is recorded. */
export function newContext(ratio: number, traceId = newTraceId()): TraceContext {
  return { traceId, parentId: undefined, isSampled: shareOf(traceId) < ratio, state: undefined };
}

/** From 0 to 1, by the last 52 bits: every gateway that sees the trace decides the same. */
function shareOf(traceId: string): number {
  return Number.parseInt(traceId.slice(-13), 16) / 2 ** 52;
}

/** The headers for an upstream that is asked in the span with this id. */
export function headersOf({ traceId, isSampled, state }: TraceContext, spanId: string): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId}-0${isSampled ? SAMPLED : 0}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}

// Random bytes are drawn 4 KB at a time: one call of the generator costs as much as many ids.
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
