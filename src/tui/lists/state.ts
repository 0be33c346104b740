/** What the user has made of a list: the cursor, the filter, the order. Pure. */
import { NOTHING_TYPED, type Typed } from '../draw/typed.ts';

/** The order of a list by one of its fields. */
export interface Sort {
  readonly by: string;
  readonly isDown: boolean;
}

/** What the user has made of a list. */
export interface ListState {
  /** The row under the cursor; -1 for none. */
  readonly cursor: number;
  readonly filter: Typed;
  /** Whether the filter is being typed. */
  readonly isTyping: boolean;
  /** Undefined for the order in which the rows come. */
  readonly sort: Sort | undefined;
}

export const FIRST_LIST: ListState = { cursor: 0, filter: NOTHING_TYPED, isTyping: false, sort: undefined };
