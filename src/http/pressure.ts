/** Why requests are rejected before any work is done for them, and what their clients read. */
import type { Overload } from './overload.ts';

/** Why a request is rejected before its key is checked. */
export type Pressure = 'connections' | Overload;

export const PRESSURE_MESSAGES: Readonly<Record<Pressure, string>> = {
  connections: 'The gateway has reached its connection limit.',
  loop_delay: 'The gateway is overloaded.',
  memory: 'The gateway is low on memory.',
};
