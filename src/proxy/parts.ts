/** The dependencies shared by all requests of one config. */
import type { Catalog } from '../catalog/catalog.ts';
import type { BodyLimiter } from '../http/body-limiter.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../observe/log.ts';
import type { Monitor } from '../observe/monitor.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import type { AnswerCache } from './cache.ts';
import type { ChildKeys } from './child-keys.ts';
import type { Dispatcher } from './dispatch.ts';
import type { Keeper } from './kept.ts';
import type { ModelPaces } from './pace.ts';

export interface PipelineParts {
  readonly catalog: Catalog;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
  readonly monitor: Monitor;
  readonly dispatcher: Dispatcher;
  readonly bodies: BodyLimiter;
  readonly paces: ModelPaces;
  readonly keeper: Keeper;
  readonly cache: AnswerCache;
  readonly children: ChildKeys;
  /** Whether the held maximum is written into all requests without one, or only into requests of keys on a leash. */
  readonly capOutput: boolean;
  /** The `created` value of the model listing, in seconds since 1970. */
  readonly modelsCreatedS: number;
  readonly log: Log;
  /** Called when a request fails because the ledger cannot write. The cause is logged at its source. */
  onUnavailable(): void;
}
