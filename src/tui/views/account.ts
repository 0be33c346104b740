/** The account: what is free, held and spent, as one bar, and how long what is free lasts. */
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

/** At most as many lines as there is room for: how long it lasts, the bar, and what its parts are. */
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

/** One line: nothing is refused, so there is nothing to last. The head of the screen has the balance as well. */
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

/** What is free comes first, and what is gone last. */
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

/** The whole of it, or its last words left out. All amounts have one form, which stays while what is held comes and goes. */
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

/** Of both paces, or of the nearer one if there is no room for both. */
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
