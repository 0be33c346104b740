/** Messages between the main thread and the alerts thread. */
import type { Durability } from '../core/settings.ts';
import type { StateLocation } from '../core/state-location.ts';
import type { Observation } from './observation.ts';
import type { WatcherOptions } from './watcher.ts';

export interface AlertsStart {
  readonly state: StateLocation;
  readonly durability: Durability;
  readonly options: WatcherOptions;
  /** Whether an earlier process with this gateway name may still be delivering during a handover. */
  readonly hasPredecessor: boolean;
}

/** Calls to the alerts thread, handled in order. */
export interface AlertsCalls {
  /** Resolves when the thread is ready for the next observation. */
  look(observation: Observation): Promise<void>;
  /** Applies a changed config. */
  configure(options: WatcherOptions): void;
  /** Resolves after the current deliveries have ended. */
  close(): Promise<void>;
}

/** Calls to the main thread. */
export interface MainCalls {
  log(level: 'warn' | 'error', message: string): void;
}
