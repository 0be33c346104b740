/**
 * The points in the life of a request at which the process is killed, and what must be found
 * afterwards.
 */
import type { Plan } from './plan.ts';

/** How much of its answer the client had received. */
export type Received = 'nothing' | 'part' | 'all';

export interface Fate {
  /** How often the host received the request. */
  readonly seen: 0 | 1;
  /** Its journal row after the restart: none, charged at its hold, or as the host reported. */
  readonly row: 'none' | 'held' | 'reported';
  /** What its client had received, for JSON and for a stream. */
  readonly json: Received;
  readonly stream: Received;
}

/**
 * In the order in which a request reaches them. "Written" is in the transaction, "committed" is
 * before the answer.
 */
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

/** Only requests for this model are fatal; the others just happen to be in flight. */
export const DOOMED: Plan['model'] = 'odd';

/** The environment variable with the order to die, and its content as JSON. */
export const ORDER_VARIABLE = 'DIE_AT';
export interface Order {
  readonly point: Point;
  /** As clients name it. */
  readonly model: string;
  /** At which of this model's requests that reach the point. */
  readonly nth: number;
}
