/** Stored responses: the gateway's records of responses that hosts store, with their owner, upstream and token count. */
import { DAY_MS } from './clock.ts';

/** Hosts delete stored responses after 30 days. The gateway then rejects references to them. */
export const KEPT_MS = 30 * DAY_MS;
/** Maximum number of response and item ids per key. The oldest are dropped soon after the maximum is exceeded. */
export const MAX_KEPT_IDS = 100_000;
/** Maximum number of recorded items per response. Further items are unknown to the gateway. */
export const MAX_KEPT_ITEMS = 1_000;
/**
 * Maximum number of ids dropped per addition, since other work waits for it. It exceeds the ids of one addition, so a backlog
 * shrinks.
 */
export const MAX_DROPPED_IDS = 2_000;

/** A response that a host stores for a key, and its items. */
export interface KeptResponse {
  readonly keyId: string;
  readonly id: string;
  /** All input and output tokens of the response: the input that a reference to it adds. */
  readonly tokens: number;
  readonly items: readonly KeptItem[];
  /** The upstream that stores it, such as `openai#2`. Other accounts do not have it. */
  readonly upstream: string;
  /** `<provider>/<model>`. Another model may tokenize it differently. */
  readonly model: string;
  readonly atMs: number;
}

export interface KeptItem {
  readonly id: string;
  readonly tokens: number;
}

/** The record of a response id or item id. */
export interface KeptId {
  readonly id: string;
  readonly responseId: string;
  readonly tokens: number;
  readonly upstream: string;
  readonly model: string;
}
