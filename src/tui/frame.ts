/** The whole screen as lines: where things stand, the views, the one that is open, and the keys of the moment. Pure. */
import { dim, fitLine, type Line, lineWidth, span, spread } from './draw/line.ts';
import { clean, widthOf } from './draw/text.ts';
import { duration, usd } from './format.ts';
import { type Model, VIEWS, type View } from './model.ts';
import { accountOf } from './select.ts';
import { withDialog } from './views/dialog.ts';
import { HINTS, hintsOfDialog } from './views/help.ts';
import { keys } from './views/keys.ts';
import { live } from './views/live.ts';
import { models } from './views/models.ts';
import { overview } from './views/overview.ts';
import { usage } from './views/usage.ts';

/** Below this there is no room for anything. */
export const MIN_COLUMNS = 60;
export const MIN_ROWS = 16;
/** Head, tabs, an empty line, that of messages, and the line at the bottom. */
const FRAME_ROWS = 5;

const BODIES: Readonly<Record<View, (model: Model, height: number) => Line[]>> = {
  overview,
  keys,
  live,
  usage,
  models,
};
const NAMES: Readonly<Record<View, string>> = {
  overview: 'Overview',
  keys: 'Keys',
  live: 'Live',
  usage: 'Usage',
  models: 'Models',
};

/** As many lines as the screen has, each as wide as it is. */
export function frame(model: Model): Line[] {
  const { columns, rows } = model;
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) return tooSmall(model);
  const height = rows - FRAME_ROWS;
  const body = BODIES[model.view](model, height).slice(0, height);
  const gap = Array<Line>(height - body.length).fill([]);
  const lines = [head(model), tabs(model), [], ...body, ...gap, told(model)];
  const shown = model.dialog === undefined ? lines : withDialog(lines, model.dialog, columns, rows - 1);
  return [...shown, foot(model)].map((line) => fitLine(line, columns));
}

function tooSmall({ columns, rows }: Model): Line[] {
  const text = `The window is ${columns} by ${rows}; inf-gw needs ${MIN_COLUMNS} by ${MIN_ROWS}.`;
  return Array.from({ length: rows }, (_, row) => fitLine(row === 0 ? [{ text }] : [], columns));
}

function head(model: Model): Line {
  const { columns } = model;
  const left = [span(' inf-gw ', { bold: true }), ...standing(model)];
  const balance = span(`${usd(accountOf(model).balanceNanos)} USD `, { bold: true });
  const labelled = [dim('  balance '), balance];
  const hasRoom = lineWidth(left) + lineWidth(labelled) < columns;
  return spread(left, hasRoom ? labelled : [balance], columns);
}

/** How the gateway stands. */
function standing({ snapshot, nowMs, wasConnected, refused }: Model): Line {
  if (refused !== undefined) return [span('○ ', { tone: 'bad' }), span(clean(refused), { tone: 'bad' })];
  if (snapshot === undefined) {
    const state = wasConnected
      ? 'the gateway has gone; waiting for it'
      : 'no gateway runs: these are the stored figures';
    return [span('○ ', { tone: 'warn' }), span(state, { tone: 'warn' })];
  }
  const { draining, storage_fault: fault, address, version, started_at_ms: startedAtMs } = snapshot;
  const tone = fault !== null ? 'bad' : draining ? 'warn' : 'good';
  const state = fault !== null ? clean(fault) : draining ? 'shutting down' : `serving ${address}`;
  const up = duration((nowMs - startedAtMs) / 1_000);
  return [dim(`${version}  `), span('● ', { tone }), { text: state }, dim(`  up ${up}`)];
}

function tabs({ view }: Model): Line {
  return VIEWS.flatMap((each, index) => [
    { text: ' ' },
    span(` ${index + 1} ${NAMES[each]} `, each === view ? { inverse: true, bold: true } : { dim: true }),
  ]);
}

function told({ message }: Model): Line {
  return message === undefined ? [] : [{ text: ' ' }, span(clean(message.text), { tone: message.tone })];
}

function foot(model: Model): Line {
  return [{ text: ' ' }, dim(asManyAsFit(hintsFor(model), model.columns - 1))];
}

function hintsFor({ dialog, keys: state, view }: Model): readonly string[] {
  if (dialog !== undefined) return hintsOfDialog(dialog);
  return view === 'keys' && state.isTyping ? HINTS.typing : HINTS[view];
}

function asManyAsFit(hints: readonly string[], width: number): string {
  const last = hints.at(-1) ?? '';
  let shown = '';
  for (const hint of hints.slice(0, -1)) {
    if (widthOf(`${shown}${hint}  ${last}`) > width) break;
    shown += `${hint}  `;
  }
  return shown + last;
}
