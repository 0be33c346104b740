/** The state as commands and dashboard use it, whichever store keeps it. */
import type { Alerts } from './alert-book.ts';
import type { Book } from './book.ts';
import type { KeptResponses } from './kept-book.ts';
import type { Nodes } from './nodes.ts';
import type { Standings } from './standings.ts';

/** What operators read and change. A running gateway sees each change with its next decision. */
export interface OpenState extends Book {
  /** What opening it has created, such as `the state file /srv/inf-gw.db`; undefined if nothing. */
  readonly created: string | undefined;
  readonly standings: Standings;
  readonly alerts: Alerts;
  readonly kept: KeptResponses;
  /** The gateways that share it; undefined for a state file, which has one at most. */
  readonly nodes: Nodes | undefined;

  /** Runs `work`. A storage error that it throws becomes a UserError that says what to do. */
  run<T>(work: () => Promise<T>): Promise<T>;

  /** Whether something may have changed since the last call. True for the first call. */
  hasChanged(): Promise<boolean>;

  close(): Promise<void>;
}
