/**
 * The time to the first byte by upstream, p50 and p99, on a logarithmic scale: upstreams can differ by a factor of a
 * hundred.
 */
import { FIRST_BYTE_STEP_S } from '../../observe/first-bytes.ts';
import { addHistogram, emptyHistogram, type Histogram, quantile } from '../../observe/histogram.ts';
import type { UpstreamHealth } from '../../observe/worker-snapshot.ts';
import { milliseconds } from '../../operator/format.ts';
import { clean, cutMiddle, fit } from '../../operator/text.ts';
import { SAMPLES_PER_COLUMN, spark } from '../draw/braille.ts';
import { bold, dim, type Line, span, type Tone } from '../draw/line.ts';
import type { Model } from '../model.ts';

const NAME = 12;
const FIGURE = 7;
/** The lower end of the scale as a share of the fastest time, so that its curve is visible. */
const LEAST_SHARE = 0.7;

interface Times {
  readonly name: string;
  readonly p50: Quantile;
  readonly p99: Quantile;
}

/** A quantile of the last minute, and of each step of the last minutes. */
interface Quantile {
  readonly now: number | undefined;
  readonly past: readonly (number | undefined)[];
}

/** Returns a head and up to `height` upstreams; undefined if no gateway reports any. */
export function firstBytesOf(title: string, { snapshot }: Model, width: number, height: number): Line[] | undefined {
  // Slowest first. An upstream without recent requests has no times.
  const all = (snapshot?.upstreams ?? []).flatMap(timesOf).toSorted((a, b) => (b.p99.now ?? 0) - (a.p99.now ?? 0));
  if (all.length === 0) return undefined;
  const shown = all.length <= height ? all : all.slice(0, height - 1);
  const known = shown.flatMap(({ p50, p99 }) => [...p50.past, ...p99.past]).filter((ms) => ms !== undefined);
  const scale = { least: Math.min(...known) * LEAST_SHARE, most: Math.max(...known) };
  const room = courseRoom(width);
  const more = all.length - shown.length;
  const headOf = (name: string) => fit(` ${fit(name, FIGURE, 'right')}`, FIGURE + 1 + (room === 0 ? 0 : room + 2));
  return [
    [bold(fit(title, NAME)), dim(headOf('p50') + headOf('p99'))],
    ...shown.map(
      ({ name, p50, p99 }): Line => [
        { text: fit(cutMiddle(clean(name), NAME), NAME) },
        ...quantileSpans(p50, scale, room, 'accent'),
        ...quantileSpans(p99, scale, room, 'other'),
      ],
    ),
    ...(more === 0 ? [] : [[dim(`+${more} more`)]]),
  ];
}

/** Returns the columns for a quantile's curve: 0 in a narrow window. */
export function courseRoom(width: number): number {
  return Math.max(0, Math.floor((width - NAME - 2 * (FIGURE + 3)) / 2));
}

/** Number of steps in the last minute. */
const RECENT = 60 / FIRST_BYTE_STEP_S;

function timesOf({ upstream, first_bytes: steps = [] }: UpstreamHealth): Times[] {
  const recent = emptyHistogram();
  for (const step of steps.slice(-RECENT)) addHistogram(recent, step as Histogram);
  const at = (share: number): Quantile => ({
    now: quantile(recent, share),
    past: steps.map((step) => quantile(step as Histogram, share)),
  });
  return recent.every((count) => count === 0) ? [] : [{ name: upstream, p50: at(0.5), p99: at(0.99) }];
}

/** Formats a quantile as `≤517ms`: it is the upper bound of a bucket, a quarter above the lower bound. */
export function about(ms: number | undefined): string {
  return ms === undefined ? '-' : `≤${milliseconds(ms).replace(' ', '')}`;
}

interface Scale {
  readonly least: number;
  readonly most: number;
}

function quantileSpans({ now, past }: Quantile, { least, most }: Scale, room: number, tone: Tone): Line {
  const share = (ms: number | undefined) => (ms === undefined ? 0 : Math.log(ms / least) / Math.log(most / least));
  const samples = past.slice(-room * SAMPLES_PER_COLUMN).map(share);
  // Without a curve, its surrounding blanks are omitted as well.
  if (room === 0) return [{ text: ` ${fit(about(now), FIGURE, 'right')}` }];
  return [
    { text: ` ${fit(about(now), FIGURE, 'right')} ` },
    span(fit(spark(samples, room, 1), room, 'right'), { tone }),
    { text: ' ' },
  ];
}
