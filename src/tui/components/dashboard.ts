/** The whole screen: status, tabs, troubles, the open view, a message and key hints, and a dialog on top. */
import { Box, useIsScreenReaderEnabled } from 'ink';
import { type ComponentType, createElement as h, type ReactNode, useContext, useMemo } from 'react';
import { duration, usd } from '../../operator/format.ts';
import { clean, widthOf, wrap } from '../../operator/text.ts';
import { VIEW_NAMES } from '../bindings.ts';
import { dim, type Line, lineWidth, span } from '../draw/line.ts';
import { currentRow } from '../lists/groups.ts';
import { chosenItem } from '../lists/overview.ts';
import { type Model, VIEWS, type View } from '../model.ts';
import { accountOf } from '../select.ts';
import { type Trouble, troubleParts, troublesOf } from '../trouble.ts';
import { aliveText } from '../views/gateways.ts';
import { GroupsView } from '../views/groups.ts';
import { groupHints, HINTS, hintParts, hintsOfDialog, usable } from '../views/help.ts';
import { KeysView } from '../views/keys.ts';
import { LiveView } from '../views/live.ts';
import { ModelsView } from '../views/models.ts';
import { OverviewView } from '../views/overview.ts';
import { RequestsView } from '../views/requests.ts';
import { UsageView } from '../views/usage.ts';
import { Clickable, ClicksContext } from './clickable.ts';
import { DialogBox } from './dialog.ts';
import { Lines, LookContext, Spread, Styled } from './styled.ts';
import type { ViewProps } from './view-props.ts';

/** The smallest terminal that the views fit in. */
export const MIN_COLUMNS = 60;
export const MIN_ROWS = 16;
/** Rows of status, tabs, troubles, the message and the key hints. */
const FRAME_ROWS = 5;
/** Minimum columns for gaps between the tabs, even with the read-only note. */
const LOOSE_COLUMNS = 87;
/** Below this many columns the tabs' numbers touch their names. */
const TIGHT_COLUMNS = 80;
/** Columns between two hints. */
const HINT_GAP = 2;

const BODIES: Readonly<Record<View, ComponentType<ViewProps>>> = {
  overview: OverviewView,
  keys: KeysView,
  live: LiveView,
  requests: RequestsView,
  usage: UsageView,
  models: ModelsView,
  groups: GroupsView,
};

interface ModelProps {
  readonly model: Model;
}

export function Dashboard({ model }: ModelProps): ReactNode {
  const { columns, rows, dialog } = model;
  const isRead = useIsScreenReaderEnabled();
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) return h(TooSmall, { model });
  if (isRead && dialog !== undefined) return h(DialogBox, { model, dialog });
  return h(
    Box,
    { flexDirection: 'column', width: columns, ...(isRead ? {} : { height: rows, overflow: 'hidden' as const }) },
    dialog === undefined ? h(Body, { model }) : h(Beneath, null, h(Body, { model })),
    h(MessageLine, { model }),
    h(HintLine, { model }),
    dialog === undefined ? null : h(DialogBox, { model, dialog }),
  );
}

/** The view beneath a dialog: faded, and without clicks. */
function Beneath({ children }: { readonly children?: ReactNode }): ReactNode {
  const look = useContext(LookContext);
  const faded = useMemo(() => ({ ...look, isFaded: true }), [look]);
  return h(LookContext, { value: faded }, h(ClicksContext, { value: undefined }, children));
}

function Body({ model }: ModelProps): ReactNode {
  const isRead = useIsScreenReaderEnabled();
  const height = model.rows - FRAME_ROWS;
  return h(
    Box,
    { flexDirection: 'column', height: model.rows - 2, flexShrink: 0, overflow: 'hidden' },
    h(StatusLine, { model }),
    // Spares screen readers from reading all tabs with each change.
    isRead ? null : h(Tabs, { model }),
    h(TroubleLine, { model }),
    h(BODIES[model.view], { model, height }),
  );
}

function TooSmall({ model: { columns, rows } }: ModelProps): ReactNode {
  const text = `The window is ${columns} by ${rows}; inf-gw needs ${MIN_COLUMNS} by ${MIN_ROWS}.`;
  const lines = wrap(text, columns).map((line) => [{ text: line }]);
  return h(Box, { flexDirection: 'column', height: rows, width: columns, overflow: 'hidden' }, h(Lines, { lines }));
}

/** The status line. In a narrow window the uptime is dropped before the balance. */
function StatusLine({ model }: ModelProps): ReactNode {
  const { columns } = model;
  const status: Line = [span(' inf-gw ', { bold: true }), ...gatewayStatus(model)];
  const tone = troublesOf(model).find(({ about }) => about === 'money')?.tone;
  const balance = span(`${usd(accountOf(model).balanceNanos)} USD `, { bold: true, tone });
  const all: Line = [...status, ...upText(model)];
  const fits = (left: Line, right: Line) => lineWidth(left) + lineWidth(right) < columns;
  const labelled = [dim('  balance '), balance];
  if (fits(all, labelled)) return h(Spread, { left: all, right: labelled, width: columns });
  return h(Spread, { left: fits(all, [balance]) ? all : status, right: [balance], width: columns });
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

function Tabs({ model: { view, isReadOnly, columns } }: ModelProps): ReactNode {
  const gap = columns >= LOOSE_COLUMNS ? 1 : 0;
  const tabs = VIEWS.map((each) => {
    const style = each === view ? { inverse: true, bold: true } : { dim: true };
    const line = [span(tabText(each, columns), style)];
    return h(Clickable, { key: each, click: { on: 'view', which: each }, flexShrink: 0 }, h(Styled, { line }));
  });
  return h(
    Box,
    { justifyContent: 'space-between', height: 1, flexShrink: 0, overflow: 'hidden' },
    h(Box, { gap, paddingLeft: gap, flexShrink: 0, 'aria-role': 'tablist' }, tabs),
    isReadOnly ? h(Styled, { line: [dim('read-only ')] }) : null,
  );
}

function tabText(view: View, columns: number): string {
  const number = VIEWS.indexOf(view) + 1;
  return columns < TIGHT_COLUMNS ? ` ${number}${VIEW_NAMES[view]}` : ` ${number} ${VIEW_NAMES[view]} `;
}

function TroubleLine({ model }: ModelProps): ReactNode {
  const parts = troubleParts(model, chosenTrouble(model));
  return h(
    Box,
    { height: 1, flexShrink: 0, overflow: 'hidden' },
    parts.map(({ line, about }, index) => {
      const click = about === undefined ? undefined : ({ on: 'trouble', which: about } as const);
      return h(Clickable, { key: index, click, flexShrink: parts.length === 1 ? 1 : 0 }, h(Styled, { line }));
    }),
  );
}

/** Returns the trouble under the Overview's cursor. */
function chosenTrouble(model: Model): Trouble | undefined {
  const item = model.view === 'overview' ? chosenItem(model) : undefined;
  return item?.kind === 'trouble' ? item.trouble : undefined;
}

function MessageLine({ model: { message } }: ModelProps): ReactNode {
  const line = message === undefined ? [] : [{ text: ' ' }, span(clean(message.text), { tone: message.tone })];
  return h(Box, { height: 1, flexShrink: 0 }, h(Styled, { line }));
}

function HintLine({ model }: ModelProps): ReactNode {
  const hints = fittingHints(hintsFor(model), model.columns - 1).map((hint) => {
    const parts = hintParts(hint).map(({ text, press }, index) => {
      const click = press === undefined ? undefined : ({ on: 'key', which: press } as const);
      return h(Clickable, { key: index, click, flexShrink: 0 }, h(Styled, { line: [dim(text)] }));
    });
    return h(Box, { key: hint, flexShrink: 0 }, parts);
  });
  return h(Box, { gap: HINT_GAP, paddingLeft: 1, height: 1, flexShrink: 0, overflow: 'hidden' }, hints);
}

function hintsFor(model: Model): readonly string[] {
  const { dialog, lists, view, isReadOnly } = model;
  if (dialog !== undefined) return hintsOfDialog(dialog);
  if (lists[view].isTyping) return HINTS.typing;
  return usable(view === 'groups' ? groupHints(currentRow(model)?.kind) : HINTS[view], isReadOnly);
}

/** Joins as many whole hints as fit, and always the last one. */
function fittingHints(hints: readonly string[], width: number): string[] {
  const last = hints.slice(-1);
  const shown: string[] = [];
  for (const hint of hints.slice(0, -1)) {
    if (widthOf([...shown, hint, ...last].join(' '.repeat(HINT_GAP))) > width) break;
    shown.push(hint);
  }
  return [...shown, ...last];
}
