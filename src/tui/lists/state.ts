/** The state of a list: the cursor, the filter, the sort order. Pure. */
import { NOTHING_TYPED, type Typed } from '../draw/typed.ts';

/** The order of a list by one of its fields. */
export interface Sort {
  readonly by: string;
  readonly isDown: boolean;
}

/** The user's settings for a list. */
export interface ListState {
  /** The row under the cursor; -1 without one. */
  readonly cursor: number;
  readonly filter: Typed;
  /** Whether the filter is being typed. */
  readonly isTyping: boolean;
  /** Undefined for the default order. */
  readonly sort: Sort | undefined;
}

export const FIRST_LIST: ListState = { cursor: 0, filter: NOTHING_TYPED, isTyping: false, sort: undefined };
