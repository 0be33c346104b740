/** The faults of a shared state that the engine notices, and the database does not report. */
import type { StorageFault } from '../../state/storage-fault.ts';

/** Nothing may be admitted, because the windows of the last minute cannot be trusted. */
export class ClockStepError extends Error {}

/** Nothing of a batch was decided: it came too late, again and again. */
export class LateBatchError extends Error {}

/** Nothing was added: this gateway has not read yet what the others have asked. */
export class BehindError extends Error {}

/** Nothing may be admitted: the others do not hear of this gateway, and will charge what it has in flight as held. */
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
