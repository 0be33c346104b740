/** The failure matrix: each failure of a provider, and its outcome. docs/failures.md summarizes it. */
import type { Case, Family, Fault } from './cell.ts';
import { ANSWERS } from './families/answers.ts';
import { BREAKING } from './families/breaking.ts';
import { CONNECTING } from './families/connecting.ts';
import { ERRORS } from './families/errors.ts';
import { EVENTS_OF_ERROR } from './families/events.ts';
import { FRAMING } from './families/framing.ts';
import { HEALTHY } from './families/healthy.ts';
import { SILENCE } from './families/silence.ts';

const FAMILIES: readonly Family[] = [HEALTHY, CONNECTING, BREAKING, FRAMING, SILENCE, ERRORS, EVENTS_OF_ERROR, ANSWERS];

/**
 * When the client hangs up: never, before the failure, or at the same moment, so that either may
 * come first.
 */
export type Leaving = 'stays' | 'leaves' | 'leaves in the same moment';

/** One failure, for one kind of request and of client. */
export interface Cell {
  readonly fault: Fault;
  readonly stream: boolean;
  readonly leaving: Leaving;
  readonly case: Case;
}

/** All cells with clients of these kinds. */
export function cellsFor(leavings: readonly Leaving[]): Cell[] {
  return FAMILIES.flatMap(({ faults }) => faults).flatMap((fault) =>
    [false, true].flatMap((stream) => {
      const chosen = stream ? fault.stream : fault.json;
      return chosen === undefined ? [] : leavings.map((leaving) => ({ fault, stream, leaving, case: chosen }));
    }),
  );
}

export function nameOf({ fault, stream, leaving }: Cell): string {
  return `${fault.what}: ${stream ? 'stream' : 'JSON'}, the client ${leaving}`;
}
