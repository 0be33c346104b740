/** What requests of one config share. */
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
  /** Whether the held maximum is written into requests that declare none, and not only into those of keys on a leash. */
  readonly capOutput: boolean;
  /** What the model listing shows as `created`, in seconds since 1970. */
  readonly modelsCreatedS: number;
  readonly log: Log;
  /** A request failed, since the ledger cannot write. What keeps it from that is logged where it is noticed. */
  onUnavailable(): void;
}
