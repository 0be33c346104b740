/** The account: free, held and spent amounts as one bar, and how long the free amount lasts. */
import { NANOS_PER_USD, type Nanos } from '../../core/money.ts';
import { freeOf, lastsText } from '../../operator/forecast.ts';
import { usd, usdInColumn } from '../../operator/format.ts';
import type { Marked } from '../../operator/table.ts';
import { fit } from '../../operator/text.ts';
import { gauge, type Part } from '../draw/gauge.ts';
import { dim, type Line, lineWidth, type Span, span, type Tone } from '../draw/line.ts';
import type { Model } from '../model.ts';
import { creditPaces } from '../paces.ts';
import { presentOf } from '../present.ts';
import { accountOf } from '../select.ts';

/** Columns for labels. */
export const LABEL = 14;

export function labelled(label: string, value: Line): Line {
  return [dim(fit(label, LABEL)), ...value];
}

/** Returns up to `room` lines: the forecast, the bar, and its legend. */
export function account(model: Model, width: number, room: number): Line[] {
  if (!model.stored.creditEnforced) return [unlimited(model, width)];
  return linesOf(model, lastsLine(model, width), width, room);
}

function linesOf(model: Model, lasts: Span, width: number, room: number): Line[] {
  if (room < 2) return [freeLine(model, lasts)];
  const shares = sharesOf(model, lasts.tone);
  const bar = barLine(model, shares, width);
  return room === 2 ? [bar, freeLine(model, lasts)] : [bar, legend(shares, width), labelled('lasts', [lasts])];
}

/**
 * One line for a gateway that enforces no credit, so the balance cannot run out. The head of the screen also shows the
 * balance.
 */
function unlimited(model: Model, width: number): Line {
  const { balanceNanos } = accountOf(model);
  const spent: Line = [{ text: `${usd(spentOf(model))} USD this month` }, dim(`  ${paceText(model)}`)];
  const all = labelled('spent', [...spent, dim(`  balance ${usd(balanceNanos)} USD, not enforced`)]);
  return lineWidth(all) <= width ? all : labelled('spent', spent);
}

function freeLine(model: Model, lasts: Span): Line {
  return labelled('free', [{ text: `${usd(freeOf(accountOf(model)))} USD`, bold: true }, { text: '  ' }, lasts]);
}

interface Share {
  readonly name: string;
  readonly nanos: Nanos;
  readonly style: Omit<Part, 'value'>;
}

/** Shares of the bar: the free amount first, the spent amount last. */
function sharesOf(model: Model, tone: Tone = 'good'): readonly Share[] {
  const balance = accountOf(model);
  return [
    { name: 'free', nanos: freeOf(balance), style: { sign: '█', tone } },
    { name: 'held', nanos: balance.heldNanos, style: { sign: '▓', tone: 'accent' } },
    { name: 'spent this month', nanos: spentOf(model), style: { sign: '░', dim: true } },
  ];
}

function barLine(model: Model, shares: readonly Share[], width: number): Line {
  const pace = paceText(model);
  const parts = shares.map(({ nanos, style }): Part => ({ ...style, value: Number(nanos) }));
  const room = width - LABEL - (pace === '' ? 0 : pace.length + 2);
  return labelled('credit', [...gauge(parts, Math.max(0, room)), { text: pace === '' ? '' : `  ${pace}` }]);
}

/**
 * The legend of the bar, without its last words if they do not fit. All amounts have the same decimals, which do not
 * change with the held amount.
 */
function legend(shares: readonly Share[], width: number): Line {
  const decimals = shares.some(({ nanos }) => nanos >= NANOS_PER_USD / 100n) ? 2 : 6;
  const parts = shares.flatMap(({ name, nanos, style: { sign, ...style } }, index): Span[] => [
    span(`${index === 0 ? '' : '  '}${sign}`, style),
    { text: ` ${name} ` },
    { text: usdInColumn(nanos, decimals), bold: index === 0 },
  ]);
  const line = labelled('', [...parts, { text: ' USD' }]);
  if (lineWidth(line) <= width) return line;
  return line.map((each) => ({ ...each, text: each.text.replace(' this month', '') }));
}

/** The forecast of both paces, or of the recent pace if both do not fit. */
function lastsLine(model: Model, width: number): Span {
  const { recent, week } = creditPaces(model);
  const whole = marked(lastsText({ recent, week }));
  if (whole.text.length <= width - LABEL) return whole;
  return marked(lastsText(recent === undefined ? { week } : { recent }));
}

function marked(text: Marked | undefined): Span {
  return span(text?.text ?? '', { tone: text?.tone });
}

function paceText(model: Model): string {
  if (model.snapshot === undefined) return '';
  return `${usd(presentOf(model).spending.costNanos)} USD/min${model.shared === undefined ? '' : ' here'}`;
}

function spentOf({ stored }: Model): Nanos {
  let sum = 0n;
  for (const { costNanos } of stored.modelUsage.values()) sum += costNanos;
  return sum;
}
