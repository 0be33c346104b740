/** A plot of costs over time as an SVG picture. Pure. */
import { NANOS_PER_USD, type Nanos } from '../core/money.ts';
import type { CostHistory } from './cost-history.ts';
import type { Zone } from './moments.ts';
import { axisText, roundTop, stepText } from './plot.ts';

const WIDTH = 860;
const HEIGHT = 320;
const PLOT = { left: 64, top: 48, right: 20, bottom: 40 } as const;
const GRID_LINES = 4;
const MOST_TIMES = 10;
/** Dark grey text, blue columns, an orange line: each at least 3:1 on white. */
const COLOURS = { text: '#24292f', grid: '#d0d7de', now: '#0969da', earlier: '#bc4c00' } as const;

/** Draws a history. `title` is shown above it, `earlier` names the compared time. */
export function plotSvg(history: CostHistory, title: string, earlier: string, zone: Zone): string {
  const { span, costs } = history;
  const [width, height] = [WIDTH - PLOT.left - PLOT.right, HEIGHT - PLOT.top - PLOT.bottom];
  const top = roundTop(Math.max(...[...costs, ...history.earlier].map(usdOf)));
  const stepWidth = width / span.steps;
  const x = (step: number) => fixed(PLOT.left + step * stepWidth);
  const y = (usd: number) => fixed(PLOT.top + height * (1 - usd / top));
  const grid = Array.from({ length: GRID_LINES + 1 }, (_, i) => {
    const usd = (top * i) / GRID_LINES;
    return (
      `<line x1="${PLOT.left}" y1="${y(usd)}" x2="${WIDTH - PLOT.right}" y2="${y(usd)}" stroke="${COLOURS.grid}"/>` +
      text(PLOT.left - 8, Number(y(usd)) + 4, axisText(usd), 'end')
    );
  });
  const bars = costs.flatMap((cost, step) => {
    if (cost <= 0n) return [];
    const usd = usdOf(cost);
    const barWidth = fixed(Math.max(1, stepWidth * 0.8));
    return [
      `<rect x="${x(step + 0.1)}" y="${y(usd)}" width="${barWidth}" height="${fixed((height * usd) / top)}" fill="${COLOURS.now}"/>`,
    ];
  });
  const points = history.earlier.map((cost, step) => `${x(step + 0.5)},${y(usdOf(cost))}`).join(' ');
  const every = Math.ceil(span.steps / MOST_TIMES);
  const times = Array.from({ length: Math.ceil(span.steps / every) }, (_, i) =>
    text(Number(x(i * every)), HEIGHT - PLOT.bottom + 18, stepText(span, i * every, zone), 'start'),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="${PLOT.left}" y="22" font-size="15" fill="${COLOURS.text}">${escaped(title)}</text>`,
    `<text x="${WIDTH - PLOT.right}" y="22" text-anchor="end" fill="${COLOURS.earlier}">${escaped(earlier)}</text>`,
    text(PLOT.left - 8, PLOT.top - 12, 'USD', 'end'),
    ...grid,
    ...bars,
    `<polyline points="${points}" fill="none" stroke="${COLOURS.earlier}" stroke-width="1.5" stroke-dasharray="4 3"/>`,
    ...times,
    '</svg>',
    '',
  ].join('\n');
}

function usdOf(nanos: Nanos): number {
  return Number(nanos) / Number(NANOS_PER_USD);
}

function fixed(number: number): string {
  return String(Number(number.toFixed(1)));
}

function text(x: number, y: number, content: string, anchor: 'start' | 'end'): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" fill="${COLOURS.text}">${escaped(content)}</text>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Names of keys and models come from outside. */
function escaped(content: string): string {
  return content.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
