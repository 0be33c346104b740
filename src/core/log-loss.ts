/** Log loss: entries of the log that a gateway had applied and the database no longer has. Pure. */
import { isoTime } from './clock.ts';
import { counted } from './plural.ts';

export interface LogLoss {
  /** The gateway that detected the loss, and when. */
  readonly node: string;
  readonly foundAtMs: number;
  /** The last applied entry that the database still has, and the last applied entry. */
  readonly keptSeq: bigint;
  readonly keptAtMs: number;
  readonly seenSeq: bigint;
  readonly seenAtMs: number;
  /** Number of ended requests, which are charged as held, and of requests in flight, which are charged at their end. */
  readonly heldRequests: number;
  readonly lateRequests: number;
  /** When an operator acknowledged the loss; null until then. */
  readonly acceptedAtMs: number | null;
}

/** Converts a row of the table, whose integers are bigints. */
export function lossOf(row: Readonly<Record<string, unknown>>): LogLoss {
  const milliseconds = (us: unknown) => Number((us as bigint) / 1_000n);
  return {
    node: row.node as string,
    foundAtMs: milliseconds(row.found_us),
    keptSeq: row.kept_seq as bigint,
    keptAtMs: milliseconds(row.kept_us),
    seenSeq: row.seen_seq as bigint,
    seenAtMs: milliseconds(row.seen_us),
    heldRequests: Number(row.held_requests),
    lateRequests: Number(row.late_requests),
    acceptedAtMs: row.accepted_us === null ? null : milliseconds(row.accepted_us),
  };
}

export function lossText(loss: LogLoss): string {
  const { node, keptSeq, seenSeq, heldRequests, lateRequests } = loss;
  const first = keptSeq + 1n;
  const entries = first === seenSeq ? `entry ${first}` : `entries ${first} to ${seenSeq}`;
  const [from, to, found] = [loss.keptAtMs, loss.seenAtMs, loss.foundAtMs].map(isoTime);
  return (
    `the database has lost ${entries} of the log, from between ${from} and ${to}, as ${node} found at ${found}: ` +
    `it charges ${counted(heldRequests, 'request')} as held that had ended, and ${lateRequests} in flight as they end; ` +
    'requests that were admitted and ended in between are not charged'
  );
}
