/** Faults of a shared state that the engine detects itself, in addition to errors of the database. */
import type { StorageFault } from '../../state/storage-fault.ts';

/** Admission is closed, because the windows of the last minute are unreliable after a step of the clock. */
export class ClockStepError extends Error {}

/** The database rejected a batch repeatedly, because it arrived too late. */
export class LateBatchError extends Error {}

/** The command was not appended, because this gateway is too far behind the log. */
export class BehindError extends Error {}

/**
 * Admission is closed, because the heartbeats of this gateway fail: the other gateways will charge its open requests as
 * held.
 */
export class UnheardError extends Error {
  readonly fault: StorageFault;

  constructor(fault: StorageFault) {
    super(fault.message);
    this.fault = fault;
  }
}

export const BEHIND_FAULT: StorageFault = {
  message:
    'this gateway is more than 10,000 entries behind the log of the others; it decides nothing until it has read them',
  kind: 'other',
};

export const LATE_FAULT: StorageFault = {
  message:
    'the database is slow: more than a second passed until it began with a request; look for load on its machine, on this ' +
    'one, and on the network between them',
  kind: 'other',
};

export const CLOCK_FAULT: StorageFault = {
  message:
    'the clock of the database server has stepped by more than a second; nothing is admitted for a minute, until the ' +
    'windows are right again; let NTP slew that clock and not step it',
  kind: 'other',
};

export const DIFFERENCE_FAULT: StorageFault = {
  message:
    'this gateway has come to another state than the others; it decides nothing until it has read theirs from the database',
  kind: 'other',
};
