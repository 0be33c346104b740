/** Opens the state wherever it is kept. The parts of a store are loaded only if it is used. */
import { existsSync } from 'node:fs';
import type { Durability } from '../core/settings.ts';
import type { OpenState } from './state.ts';

const DATABASE = /^postgres(?:ql)?:\/\//;

/** Opens the state, creating its file or its tables if there are none. Throws a UserError. */
export async function openState(address: string, durability: Durability): Promise<OpenState> {
  return (await import('./sqlite/open-state.ts')).openState(address, durability);
}

/** A state with nothing in it, for commands that only read where there is none yet. */
export async function emptyState(): Promise<OpenState> {
  return (await import('./sqlite/open-state.ts')).emptyState();
}

/** Whether the state is a file that does not exist yet. Of a database only opening it tells. */
export function isMissingFile(address: string): boolean {
  return !DATABASE.test(address) && !existsSync(address);
}
