/** The beginning of a request's details: its outcome, its cost, and its times. Pure. */
import { milliseconds } from '../../operator/format.ts';
import { gauge } from '../draw/gauge.ts';
import { bold, dim, type Line, type Span } from '../draw/line.ts';

/** Columns of the bar, chosen so that the text next to it fits in the narrowest pane. */
const BAR = 10;

export interface RequestTimes {
  /** Time from admission; undefined if no byte has arrived. */
  readonly firstByteMs: number | undefined;
  /** Time from admission to the end, or to now. */
  readonly tookMs: number;
  readonly isOver: boolean;
}

/** `cost`: the displayed cost without its unit; undefined for a refused request, which has no duration either. */
export function requestHead(id: string, state: Span, cost: string | undefined, times: RequestTimes): Line[] {
  const outcome: Line = [{ ...state, bold: true }, { text: '  ' }];
  if (cost === undefined) return [[...outcome, dim(id)]];
  return [[...outcome, bold(`${cost} USD`), dim(`  ${id}`)], timeLine(times)];
}

/** The time before and after the first byte. */
function timeLine({ firstByteMs, tookMs, isOver }: RequestTimes): Line {
  const waitedMs = Math.min(firstByteMs ?? tookMs, tookMs);
  const bar = gauge(
    [
      { value: waitedMs, sign: '░', dim: true },
      { value: tookMs - waitedMs, sign: '█', tone: 'accent' },
    ],
    BAR,
  );
  const first = firstByteMs === undefined ? '' : ` ▸ first byte ${milliseconds(firstByteMs)}`;
  return [...bar, dim('  admitted'), { text: `${first} ▸ ${isOver ? 'end' : 'now'} ${milliseconds(tookMs)}` }];
}
