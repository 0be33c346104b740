/** Whether a request, the answer that its client received, and its row agree. Pure. */
import type { Sent } from './load.ts';
import {
  costOf,
  counted,
  type Figures,
  held,
  isRefused,
  type Plan,
  reported,
  SMALL_RPM,
  statusOf,
  wordsOf,
} from './plan.ts';
import type { Row } from './state-file.ts';

const NOTHING: Figures = { prompt: 0n, cached: 0n, completion: 0n };
const TOO_MANY_REQUESTS = 429;

/** A possible end of a request. */
interface End {
  readonly outcome: string;
  readonly source?: string;
  readonly figures: Figures;
}

/** True for the answer to a refused request. */
export function wasRefused({ plan, answer }: Sent): boolean {
  if (isRefused(plan)) return true;
  return plan.key === 'small' && answer?.status === TOO_MANY_REQUESTS;
}

/** What is wrong with a complete answer. */
export function faultOfAnswer({ plan, answer }: Sent): string | undefined {
  if (answer === undefined) return undefined;
  const { status, text } = answer;
  if (status === TOO_MANY_REQUESTS && plan.key === 'small') {
    return text.includes(`${SMALL_RPM} requests per minute`) ? undefined : `the refusal says ${text}`;
  }
  if (status !== statusOf(plan)) return `the status is ${status} instead of ${statusOf(plan)}: ${text}`;
  if (status !== 200) return undefined;
  if (plan.kind === 'broken') return text.includes('"error"') ? undefined : 'the stream does not tell of its break';
  return text.includes(`#${plan.marker} `) ? undefined : `the answer belongs to another request: ${text}`;
}

/**
 * What is wrong with the row of an admitted request. `holdNanos`: its open hold when the process
 * died, if any.
 */
export function faultOfRow({ plan, answer }: Sent, row: Row, holdNanos: bigint | undefined): string | undefined {
  const asHeld = endAsHeld(plan);
  if (holdNanos !== undefined) {
    if (answer !== undefined) return 'its answer was complete before it was settled';
    if (holdNanos !== costOf(plan, asHeld.figures)) return `its hold was ${holdNanos}`;
    return agrees(plan, row, asHeld) ? undefined : `it was held, and its row says ${shown(row)}`;
  }
  if (row.source === 'held') return 'it is charged as held, though it held nothing';
  const ends = plan.kind === 'left' ? endsOfLeaver(plan, row) : [endOf(plan)];
  return ends.some((end) => agrees(plan, row, end)) ? undefined : `its row says ${shown(row)}`;
}

function agrees(plan: Plan, row: Row, { outcome, source = row.source, figures }: End): boolean {
  return (
    row.outcome === outcome &&
    row.source === source &&
    row.prompt_tokens === figures.prompt &&
    row.cached_tokens === figures.cached &&
    row.completion_tokens === figures.completion &&
    row.cost_nanos === costOf(plan, figures)
  );
}

function endAsHeld(plan: Plan): End {
  return { outcome: 'interrupted', source: 'held', figures: held(plan) };
}

/** The end of a request that the process survives. */
function endOf(plan: Plan): End {
  const [first, second] = wordsOf(plan);
  switch (plan.kind) {
    case 'json_uncounted':
    case 'stream_uncounted':
      return { outcome: 'ok', source: 'counted', figures: counted(plan, first + second) };
    case 'broken':
      return { outcome: 'upstream_error', source: 'counted', figures: counted(plan, first) };
    case 'failing':
      return { outcome: 'upstream_error', figures: NOTHING };
    case 'faulty':
      return { outcome: 'invalid_request', figures: NOTHING };
    default:
      return { outcome: 'ok', source: 'reported', figures: reported(plan) };
  }
}

/** A client that leaves pays for what it had received. */
function endsOfLeaver(plan: Plan, row: Row): End[] {
  const [first, second] = wordsOf(plan);
  const all = [
    { source: 'counted', figures: counted(plan, first) },
    { source: 'counted', figures: counted(plan, first + second) },
    { source: 'reported', figures: reported(plan) },
  ];
  const outcome = row.outcome === 'ok' ? 'ok' : 'cancelled';
  return all.map((end) => ({ outcome, ...end }));
}

function shown(row: Row): string {
  const { outcome, source, prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion } = row;
  return `${outcome}, ${source}, ${prompt} (${cached} cached) and ${completion} tokens, ${row.cost_nanos} nanodollars`;
}
