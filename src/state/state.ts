/** The state as the CLI and the TUI use it, for both stores. */
import type { Alerts } from './alert-book.ts';
import type { Book } from './book.ts';
import type { KeptResponses } from './kept-book.ts';
import type { Nodes } from './nodes.ts';
import type { Standings } from './standings.ts';

/** The operations of operators. A running gateway applies each change with its next decision. */
export interface OpenState extends Book {
  /** Description of the newly created storage, such as `the state file /srv/inf-gw.db`; undefined if it existed. */
  readonly created: string | undefined;
  readonly standings: Standings;
  readonly alerts: Alerts;
  readonly kept: KeptResponses;
  /** The gateways that share the state; undefined for SQLite, which allows one gateway. */
  readonly nodes: Nodes | undefined;

  /** Runs `work`. Converts storage errors to a UserError with the next step. */
  run<T>(work: () => Promise<T>): Promise<T>;

  /** Whether something may have changed since the last call. True for the first call. */
  hasChanged(): Promise<boolean>;

  close(): Promise<void>;
}
