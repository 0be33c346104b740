/** How the details of a request begin: how it went, what it cost, and where its time went. Pure. */
import { milliseconds } from '../../operator/format.ts';
import { gauge } from '../draw/gauge.ts';
import { bold, dim, type Line, type Span } from '../draw/line.ts';

/** Columns of the bar: the text beside it fits in the narrowest pane. */
const BAR = 10;

export interface RequestTimes {
  /** From the admission on; undefined if none has come. */
  readonly firstByteMs: number | undefined;
  /** From the admission to the end, or to now. */
  readonly tookMs: number;
  readonly isOver: boolean;
}

/** `cost`: as it is shown, without its unit; undefined for a request that was refused, which took no time either. */
export function requestHead(id: string, state: Span, cost: string | undefined, times: RequestTimes): Line[] {
  const outcome: Line = [{ ...state, bold: true }, { text: '  ' }];
  if (cost === undefined) return [[...outcome, dim(id)]];
  return [[...outcome, bold(`${cost} USD`), dim(`  ${id}`)], timeLine(times)];
}

/** What it waited for the first byte, and what came after it. */
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
