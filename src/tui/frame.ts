/** The whole screen as lines: status, tabs, what is wrong, the open view, a message and key hints. Pure. */

import { duration, usd } from '../operator/format.ts';
import { clean, widthOf, wrap } from '../operator/text.ts';
import { VIEW_NAMES } from './bindings.ts';
import { dim, fitLine, type Line, lineWidth, span, spread } from './draw/line.ts';
import { currentRow } from './lists/groups.ts';
import { chosenItem } from './lists/overview.ts';
import { type Model, VIEWS, type View } from './model.ts';
import { accountOf } from './select.ts';
import { type Trouble, troubleLine, troublesOf } from './trouble.ts';
import { withDialog } from './views/dialog.ts';
import { aliveText } from './views/gateways.ts';
import { groups } from './views/groups.ts';
import { groupHints, HINTS, hintSpans, hintsOfDialog, usable } from './views/help.ts';
import { keys } from './views/keys.ts';
import { live } from './views/live.ts';
import { models } from './views/models.ts';
import { overview } from './views/overview.ts';
import { requests } from './views/requests.ts';
import { usage } from './views/usage.ts';

/** The smallest terminal that the views fit in. */
export const MIN_COLUMNS = 60;
export const MIN_ROWS = 16;
/** Status, tabs, what is wrong, the message line and the key hints. */
const FRAME_ROWS = 5;
/** From this many columns on there is room between the tabs, also beside a note that all is read-only. */
const LOOSE_COLUMNS = 87;
/** With fewer, the numbers stand at the names. */
const TIGHT_COLUMNS = 80;

/** Between two hints. */
const HINT_GAP = '  ';

const BODIES: Readonly<Record<View, (model: Model, height: number) => Line[]>> = {
  overview,
  keys,
  live,
  requests,
  usage,
  models,
  groups,
};
/** Exactly as many lines as the screen has rows, each exactly as wide as the screen. */
export function frame(model: Model): Line[] {
  const { columns, rows } = model;
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) return tooSmall(model);
  const height = rows - FRAME_ROWS;
  const body = BODIES[model.view](model, height).slice(0, height);
  const gap = Array<Line>(height - body.length).fill([]);
  const lines = [
    statusLine(model),
    tabs(model),
    troubleLine(model, chosenTrouble(model)),
    ...body,
    ...gap,
    messageLine(model),
  ];
  const shown = model.dialog === undefined ? lines : withDialog(lines, model, model.dialog);
  return [...shown, hintLine(model)].map((line) => fitLine(line, columns));
}

function tooSmall({ columns, rows }: Model): Line[] {
  const text = `The window is ${columns} by ${rows}; inf-gw needs ${MIN_COLUMNS} by ${MIN_ROWS}.`;
  const lines = wrap(text, columns);
  return Array.from({ length: rows }, (_, row) => fitLine([{ text: lines[row] ?? '' }], columns));
}

/** Where room is short, the balance comes before how long the gateway has been up. */
function statusLine(model: Model): Line {
  const { columns } = model;
  const status: Line = [span(' inf-gw ', { bold: true }), ...gatewayStatus(model)];
  const tone = troublesOf(model).find(({ about }) => about === 'money')?.tone;
  const balance = span(`${usd(accountOf(model).balanceNanos)} USD `, { bold: true, tone });
  const all: Line = [...status, ...upText(model)];
  const fits = (left: Line, right: Line) => lineWidth(left) + lineWidth(right) < columns;
  const labelled = [dim('  balance '), balance];
  if (fits(all, labelled)) return spread(all, labelled, columns);
  return spread(fits(all, [balance]) ? all : status, [balance], columns);
}

function upText({ snapshot, nowMs }: Model): Line {
  return snapshot === undefined ? [] : [dim(`  up ${duration((nowMs - snapshot.started_at_ms) / 1_000)}`)];
}

function gatewayStatus({ snapshot, shared, isConnecting, wasConnected, socketError }: Model): Line {
  if (socketError !== undefined) return [span('○ ', { tone: 'bad' }), span(clean(socketError), { tone: 'bad' })];
  if (isConnecting) return [dim(`○ connecting…${shared === undefined ? '' : `  ${aliveText(shared)}`}`)];
  if (snapshot === undefined && shared !== undefined) {
    const isServed = shared.nodes.some(({ state }) => state === 'alive');
    const tone = shared.isStale ? 'bad' : isServed ? 'good' : 'warn';
    return [span('○ ', { tone }), { text: `no gateway here; ${aliveText(shared)}` }];
  }
  if (snapshot === undefined) {
    const state = wasConnected
      ? 'gateway stopped; waiting for it to start'
      : 'no gateway running; showing stored figures';
    return [span('○ ', { tone: 'warn' }), span(state, { tone: 'warn' })];
  }
  const { draining, storage_fault: storageFault, address, version } = snapshot;
  const tone = storageFault !== null ? 'bad' : draining ? 'warn' : 'good';
  const state = storageFault !== null ? clean(storageFault) : draining ? 'shutting down' : `serving ${address}`;
  return [dim(`${version}  `), span('● ', { tone }), { text: state }];
}

function tabs({ view, isReadOnly, columns }: Model): Line {
  const names = VIEWS.flatMap((each) => [
    { text: columns >= LOOSE_COLUMNS ? ' ' : '' },
    span(tabText(each, columns), {
      ...(each === view ? { inverse: true, bold: true } : { dim: true }),
      click: { on: 'view', which: each },
    }),
  ]);
  return isReadOnly ? spread(names, [dim('read-only ')], columns) : names;
}

function tabText(view: View, columns: number): string {
  const number = VIEWS.indexOf(view) + 1;
  return columns < TIGHT_COLUMNS ? ` ${number}${VIEW_NAMES[view]}` : ` ${number} ${VIEW_NAMES[view]} `;
}

/** In the Overview the cursor starts at what is wrong. */
function chosenTrouble(model: Model): Trouble | undefined {
  const item = model.view === 'overview' ? chosenItem(model) : undefined;
  return item?.kind === 'trouble' ? item.trouble : undefined;
}

function messageLine({ message }: Model): Line {
  return message === undefined ? [] : [{ text: ' ' }, span(clean(message.text), { tone: message.tone })];
}

function hintLine(model: Model): Line {
  const hints = fittingHints(hintsFor(model), model.columns - 1);
  return hints.flatMap((hint, index) => [{ text: index === 0 ? ' ' : HINT_GAP }, ...hintSpans(hint)]);
}

function hintsFor(model: Model): readonly string[] {
  const { dialog, lists, view, isReadOnly } = model;
  if (dialog !== undefined) return hintsOfDialog(dialog);
  if (lists[view].isTyping) return HINTS.typing;
  return usable(view === 'groups' ? groupHints(currentRow(model)?.kind) : HINTS[view], isReadOnly);
}

/** As many as fit, each whole, and the last one. */
function fittingHints(hints: readonly string[], width: number): string[] {
  const last = hints.slice(-1);
  const shown: string[] = [];
  for (const hint of hints.slice(0, -1)) {
    if (widthOf([...shown, hint, ...last].join(HINT_GAP)) > width) break;
    shown.push(hint);
  }
  return [...shown, ...last];
}
