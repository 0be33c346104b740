/** What the main thread and the thread of alerts say to each other. */
import type { Durability } from '../core/settings.ts';
import type { StateLocation } from '../core/state-location.ts';
import type { Sight } from './observation.ts';
import type { WatcherOptions } from './watcher.ts';

export interface AlertsStart {
  readonly state: StateLocation;
  readonly durability: Durability;
  readonly options: WatcherOptions;
  /** Whether an earlier process of that name may still deliver, since it hands over. */
  readonly hasPredecessor: boolean;
}

export type ToAlerts =
  | { readonly kind: 'look'; readonly sight: Sight }
  /** The config has changed. */
  | { readonly kind: 'configure'; readonly options: WatcherOptions }
  | { readonly kind: 'close' };

export type FromAlerts =
  | { readonly kind: 'log'; readonly level: 'warn' | 'error'; readonly message: string }
  /** It has looked, and may be told what else is seen. */
  | { readonly kind: 'looked' }
  | { readonly kind: 'closed' };
