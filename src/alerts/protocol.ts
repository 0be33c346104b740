/** What the main thread and the thread of alerts say to each other. */
import type { Durability } from '../core/settings.ts';
import type { StateLocation } from '../core/state-location.ts';
import type { Observation } from './observation.ts';
import type { WatcherOptions } from './watcher.ts';

export interface AlertsStart {
  readonly state: StateLocation;
  readonly durability: Durability;
  readonly options: WatcherOptions;
  /** Whether an earlier process of that name may still deliver, since it hands over. */
  readonly hasPredecessor: boolean;
}

/** What the main thread asks of the thread of alerts. One is dealt with after the other. */
export interface AlertsCalls {
  /** Resolves when it may be told what else is seen. */
  look(observation: Observation): Promise<void>;
  /** The config has changed. */
  configure(options: WatcherOptions): void;
  /** Resolves when what was being delivered is. */
  close(): Promise<void>;
}

/** What that thread tells the main thread. */
export interface MainCalls {
  log(level: 'warn' | 'error', message: string): void;
}
