/** Finds the request of each journal row. */
import type { Sent } from './load.ts';
import { inputCount, inputEstimate, type KeyName, markerOf, modelOf, type Plan } from './plan.ts';
import type { Row } from './state-file.ts';

export interface Matching {
  readonly rows: ReadonlyMap<Sent, Row>;
  /** Rows without a request, or of a request that already has a row. */
  readonly deviations: readonly string[];
  readonly countedTwice: number;
}

/**
 * A row is identified by the id that the client received; otherwise by its tokens, which are unique
 * to a request, whether reported, counted or held. A row without tokens, of a request that the host
 * rejected, is identified by its key, model and outcome.
 */
export function matchRows(
  sent: readonly Sent[],
  rows: readonly Row[],
  keys: Readonly<Record<KeyName, { readonly id: string }>>,
  seen: ReadonlyMap<number, number>,
): Matching {
  const find = finderOf(sent);
  // Their clients never received their ids.
  const turnedDown = sent.filter(({ requestId, plan }) => requestId === undefined && seen.has(plan.marker));
  const matched = new Map<Sent, Row>();
  const deviations: string[] = [];
  let countedTwice = 0;
  const describes = (row: Row, { plan }: Sent) => row.key_id === keys[plan.key].id && row.model === modelOf(plan);
  const isUnknown = (row: Row) => find(row) === undefined && row.prompt_tokens === 0n;
  const findUnknown = (row: Row) =>
    turnedDown.find(
      (other) => !matched.has(other) && outcomeIfTurnedDown(other.plan) === row.outcome && describes(row, other),
    );
  for (const row of [...rows.filter((row) => !isUnknown(row)), ...rows.filter(isUnknown)]) {
    const request = isUnknown(row) ? findUnknown(row) : find(row);
    if (request === undefined) {
      deviations.push(`row ${row.request_id} (${row.outcome}) belongs to no request that was sent`);
    } else if (matched.has(request)) {
      countedTwice++;
      deviations.push(
        `request ${request.plan.marker} has the rows ${matched.get(request)?.request_id} and ${row.request_id}`,
      );
    } else {
      matched.set(request, row);
      if (!describes(row, request)) deviations.push(`row ${row.request_id} has another key or model than its request`);
    }
  }
  return { rows: matched, deviations, countedTwice };
}

function outcomeIfTurnedDown({ kind }: Plan): string | undefined {
  if (kind === 'failing') return 'upstream_error';
  return kind === 'faulty' ? 'invalid_request' : undefined;
}

function finderOf(sent: readonly Sent[]): (row: Row) => Sent | undefined {
  const byId = new Map(sent.map((request) => [request.requestId, request]));
  const byMarker = new Map(sent.map((request) => [request.plan.marker, request]));
  const byCount = new Map(sent.map((request) => [inputCount(request.plan), request]));
  const byEstimate = new Map(sent.map((request) => [inputEstimate(request.plan), request]));
  const byTokens = {
    reported: (tokens: bigint) => byMarker.get(markerOf(tokens)),
    counted: (tokens: bigint) => byCount.get(tokens),
    held: (tokens: bigint) => byEstimate.get(tokens),
  };
  return (row) => byId.get(row.request_id) ?? byTokens[row.source as keyof typeof byTokens](row.prompt_tokens);
}
