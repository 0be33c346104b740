/** Reasons to reject requests before any work is done for them, and the messages for clients. */
import type { Overload } from './overload.ts';

/** The reason for a rejection before the key is checked. */
export type Pressure = 'connections' | Overload;

export const PRESSURE_MESSAGES: Readonly<Record<Pressure, string>> = {
  connections: 'The gateway has reached its connection limit.',
  loop_delay: 'The gateway is overloaded.',
  memory: 'The gateway is low on memory.',
};
