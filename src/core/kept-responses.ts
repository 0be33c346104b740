/**
 * Responses that hosts keep, as the gateway knows them: which key may refer to one, where it is, and how many tokens it
 * brings in.
 */
import { DAY_MS } from './clock.ts';

/** Hosts drop them after 30 days. Whoever refers to one after that is told so here. */
export const KEPT_MS = 30 * DAY_MS;
/** Ids of responses and of their items, for each key. The oldest give way to new ones, soon after. */
export const MAX_KEPT_IDS = 100_000;
/** Items of a response that can be referred to. Those beyond are unknown. */
export const MAX_KEPT_ITEMS = 1_000;
/** What one addition drops at most, of what is too old and of what is too much: others wait meanwhile. More than it adds. */
export const MAX_DROPPED_IDS = 2_000;

/** A response that a host keeps for a key, and its items. */
export interface KeptResponse {
  readonly keyId: string;
  readonly id: string;
  /** All that it has read and written: what comes in with it. */
  readonly tokens: number;
  readonly items: readonly KeptItem[];
  /** The upstream that has it, such as `openai#2`: another account does not know it. */
  readonly upstream: string;
  /** `<provider>/<model>`: others may make another number of tokens of it. */
  readonly model: string;
  readonly atMs: number;
}

export interface KeptItem {
  readonly id: string;
  readonly tokens: number;
}

/** What is known of an id, of a response or of an item. */
export interface KeptId {
  readonly id: string;
  readonly responseId: string;
  readonly tokens: number;
  readonly upstream: string;
  readonly model: string;
}
