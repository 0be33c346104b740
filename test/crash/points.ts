/** The points in the life of a request at which the process is killed, and what must be found afterwards. */
import type { Plan } from './plan.ts';

/** How much of its answer had reached the client. */
export type Received = 'nothing' | 'part' | 'all';

export interface Fate {
  /** How often the host saw the request. */
  readonly seen: 0 | 1;
  /** Its row in the journal once the gateway has started again: none, charged at its hold, or as the host reported. */
  readonly row: 'none' | 'held' | 'reported';
  /** What its client had received, if it asked for JSON, and if it asked for a stream. */
  readonly json: Received;
  readonly stream: Received;
}

/** In the order in which a request passes them. "Written" is within the transaction, "committed" is before the answer. */
export const FATES = {
  'before the hold': { seen: 0, row: 'none', json: 'nothing', stream: 'nothing' },
  'hold written': { seen: 0, row: 'none', json: 'nothing', stream: 'nothing' },
  'hold committed': { seen: 0, row: 'held', json: 'nothing', stream: 'nothing' },
  'before dispatch': { seen: 0, row: 'held', json: 'nothing', stream: 'nothing' },
  'after dispatch': { seen: 1, row: 'held', json: 'nothing', stream: 'nothing' },
  'before the first byte': { seen: 1, row: 'held', json: 'nothing', stream: 'nothing' },
  'after the first byte': { seen: 1, row: 'held', json: 'nothing', stream: 'part' },
  'before usage': { seen: 1, row: 'held', json: 'nothing', stream: 'part' },
  'after usage': { seen: 1, row: 'held', json: 'nothing', stream: 'part' },
  'before settlement': { seen: 1, row: 'held', json: 'nothing', stream: 'part' },
  'settlement written': { seen: 1, row: 'held', json: 'nothing', stream: 'part' },
  'settlement committed': { seen: 1, row: 'reported', json: 'nothing', stream: 'part' },
  'before the end': { seen: 1, row: 'reported', json: 'nothing', stream: 'part' },
  'after the end': { seen: 1, row: 'reported', json: 'all', stream: 'all' },
} as const satisfies Readonly<Record<string, Fate>>;

export type Point = keyof typeof FATES;
export const POINTS = Object.keys(FATES) as Point[];

/** Only requests of this model die: all others merely happen to be under way. */
export const DOOMED: Plan['model'] = 'odd';

/** What a process is told that is to die: the name of the variable, and what stands in it as JSON. */
export const ORDER_VARIABLE = 'DIE_AT';
export interface Order {
  readonly point: Point;
  /** As clients name it. */
  readonly model: string;
  /** At which of the requests of this model that come to the point. */
  readonly nth: number;
}
