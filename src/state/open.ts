/** Opens the state wherever it is kept. The parts of a store are loaded only if it is used. */
import { existsSync } from 'node:fs';
import type { Durability } from '../core/settings.ts';
import type { StateLocation } from '../core/state-location.ts';
import type { OpenState } from './state.ts';

/** Opens the state, making its file or its tables if there are none. Rejects with a UserError. */
export async function openState(location: StateLocation, durability: Durability): Promise<OpenState> {
  switch (location.kind) {
    case 'file':
      return (await import('./sqlite/open-state.ts')).openState(location.path, durability);
    case 'postgres':
      // Here operators always wait for the disk: they seldom write.
      return (await import('./postgres/open-state.ts')).openState(location.address);
  }
}

/** A state with nothing in it, for commands that only read where there is none yet. */
export async function emptyState(): Promise<OpenState> {
  return (await import('./sqlite/open-state.ts')).emptyState();
}

/** Whether the state is a file that does not exist yet. Of a database only opening it tells. */
export function isMissingFile(location: StateLocation): boolean {
  return location.kind === 'file' && !existsSync(location.path);
}
