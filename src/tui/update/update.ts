/** Computes the next model after an event. Pure: side effects are returned as data. */
import { count } from '../../operator/format.ts';
import { clean, widthOf } from '../../operator/text.ts';
import type { CreditEntry } from '../../state/account.ts';
import type { Done, Subject } from '../actions.ts';
import { commandsOf, shellLine } from '../command-line.ts';
import { copiedText } from '../copied.ts';
import { MAX_ENTRIES } from '../credit-lines.ts';
import { edited, MAX_TYPED_CHARACTERS, NOTHING_TYPED, typed } from '../draw/typed.ts';
import { currentKey } from '../lists/keys.ts';
import { LISTS } from '../lists/lists.ts';
import { shownUsage, USAGE } from '../lists/usage.ts';
import { exactWord } from '../lists/words.ts';
import { type ComparedUsage, type Dialog, LIVE_AT_TOP, type Model, VIEWS, type View } from '../model.ts';
import { hasPane } from '../select.ts';
import { troublesOf } from '../trouble.ts';
import { lastUndo, withDone } from '../undo.ts';
import { historyToLoad } from './charts.ts';
import { onDialogKey, onDialogPaste } from './dialogs.ts';
import { creditForm } from './forms.ts';
import { seekUsers } from './group-actions.ts';
import { openDetail } from './key-actions.ts';
import { onFilterKey, withFilter, withinRows, withList } from './lists.ts';
import { freezeRows } from './live-actions.ts';
import { chosenEntry, type Entry, openPalette, type PaletteDialog } from './palette.ts';
import { searched, withPage } from './requests.ts';
import {
  type Event,
  READ_ONLY,
  type Step,
  step,
  withEnded,
  withHistory,
  withMessage,
  withMinutes,
  withSeconds,
} from './step.ts';
import { backTo, intoGroup, intoKey, intoRequests, intoTrouble, intoUpstream } from './trail.ts';
import { onViewClick, onViewKey } from './views.ts';

export function update(model: Model, event: Event): Step {
  const { model: next, effects } = updated(model, event);
  // The rows move again once the question about one of them is answered.
  const isAnswered = next.dialog === undefined && next.live.asked !== undefined;
  const answered = isAnswered ? { ...next, live: { ...next.live, asked: undefined } } : next;
  const followed = withPane(answered, model);
  return step(followed.model, ...effects, ...followed.effects);
}

/**
 * Updates the pane of details for the key under the cursor. While the cursor moves, the figures wait for the next
 * refresh: reading them takes longer than drawing, and a held key skips many rows.
 */
function withPane(model: Model, before: Model): Step {
  if (model.view !== 'keys' || !hasPane(model)) return step(model);
  const current = currentKey(model)?.record.id;
  if (current === undefined || current === model.keys.detail?.keyId) return step(model);
  const wasThere = before.view === 'keys' && hasPane(before);
  const { model: next, effects } = openDetail(model);
  return step(next, ...(wasThere ? [] : effects));
}

function updated(model: Model, event: Event): Step {
  switch (event.kind) {
    case 'key':
      return permitted(model, onKey(model, event.key));
    case 'paste':
      return permitted(model, onPaste(model, event.text));
    case 'mouse':
      return permitted(model, onMouse(model, event));
    case 'resize':
      return step({ ...model, columns: event.columns, rows: event.rows });
    case 'tick':
      return step(withoutOldMessage({ ...model, nowMs: event.nowMs }));
    case 'snapshot':
      return step(withSnapshot(model, event));
    case 'disconnected':
      return step(withoutGateway(model, event.socketError));
    case 'stored':
      return step(withCursors({ ...model, stored: event.stored }, model));
    case 'shared':
      return step(withCursors({ ...model, shared: event.shared }, model));
    case 'key_detail': {
      const isOpen = model.keys.detail?.keyId === event.detail.keyId;
      return step(isOpen ? { ...model, keys: { detail: event.detail } } : model);
    }
    case 'users':
      return step(withCursors(withUsers(model, event), model));
    case 'usage':
      return step(withUsage(model, event.rows));
    case 'plot':
      return step({ ...model, plot: event.plot });
    case 'requests':
      return withPage(model, event);
    case 'history':
      return step({ ...model, minutes: withHistory(model.minutes, event.rows, model.nowMs) });
    case 'outcome':
      return step(withMessage(model, event.text, event.tone));
    case 'audit_progress':
    case 'audit_ended':
      return step(withAudit(model, event));
    case 'credit_history':
      return step(withCredit(model, event.entries));
    case 'done':
      return update(withDone(model, doneOf(event)), toldOf(event));
    case 'failed':
      return step(withFailure(model, event));
    case 'key_created':
      return step({
        ...model,
        dialog: { kind: 'secret', name: event.name, secret: event.secret, copied: false, leaving: false },
      });
  }
}

/**
 * Shows a failure in the message line, or in a dialog if it is too long. An open dialog stays: it may show a new key,
 * which is shown only once.
 */
function withFailure(model: Model, { title, lines }: Extract<Event, { kind: 'failed' }>): Model {
  const text = lines.join(' · ');
  const isShort = widthOf(clean(text)) < model.columns;
  if (isShort || model.dialog !== undefined) return withMessage(model, text, 'bad');
  return { ...model, dialog: { kind: 'notice', title, lines, top: 0 } };
}

/** Refuses changes, and questions about changes, in a read-only dashboard. */
function permitted(model: Model, next: Step): Step {
  const changes =
    isForChange(next.model.dialog) || next.effects.some(({ kind }) => kind === 'act' || kind === 'reload');
  return model.isReadOnly && changes ? step(withMessage(model, READ_ONLY, 'warn')) : next;
}

function isForChange(dialog: Dialog | undefined): boolean {
  switch (dialog?.kind) {
    case 'form':
      return dialog.purpose.kind !== 'export';
    case 'confirm':
    case 'picker':
      return true;
    case 'secret':
    case 'notice':
    case 'palette':
    case 'audit':
    case 'credit_history':
    case 'done':
    case 'help':
    case undefined:
      return false;
  }
}

function withSnapshot(model: Model, { snapshot }: Extract<Event, { kind: 'snapshot' }>): Model {
  const nowMs = snapshot.now_ms;
  // After a gap, or with another gateway, the known seconds remain valid history.
  const seconds = withSeconds(model.seconds, snapshot.seconds, nowMs);
  const minutes = withMinutes(model.minutes, snapshot.minutes, nowMs);
  const ended = withEnded(model.ended, snapshot.recent);
  return withCursors(
    withoutOldMessage({
      ...model,
      nowMs,
      snapshot,
      isConnecting: false,
      wasConnected: true,
      lostAtMs: undefined,
      socketError: undefined,
      seconds,
      minutes,
      ended,
    }),
    model,
  );
}

function withoutGateway(model: Model, socketError: string | undefined): Model {
  const lostAtMs = model.snapshot === undefined ? model.lostAtMs : model.nowMs;
  return { ...model, snapshot: undefined, isConnecting: false, socketError, lostAtMs };
}

function withoutOldMessage(model: Model): Model {
  return model.message !== undefined && model.message.untilMs < model.nowMs ? { ...model, message: undefined } : model;
}

/** Keeps the cursor on its row as rows change; if the row is gone, at its index. */
function withCursors(model: Model, before: Model): Model {
  const { view } = model;
  const { cursor } = model.lists[view];
  const list = LISTS[view];
  const isSame = list.shown(model) === list.shown(before);
  const next = isSame
    ? model
    : withList(model, { cursor: followRow(list.ids(before), list.ids(model), cursor, isChosen(model)) });
  // The figures of one key must never appear under another's name.
  const { detail } = next.keys;
  const isOther = detail !== undefined && currentKey(next)?.record.id !== detail.keyId;
  return freezeRows(isOther ? { ...next, keys: { detail: undefined } } : next);
}

/** Whether the user has selected the row under the cursor, even if it is the first. */
function isChosen({ view, lists, keys, groups, live }: Model): boolean {
  switch (view) {
    case 'overview':
      return lists.overview.cursor >= 0;
    case 'keys':
      return keys.detail !== undefined;
    case 'groups':
      return groups.isOpen || groups.unfolded.size > 0;
    case 'live':
      return live.isOpen;
    case 'requests':
    case 'usage':
    case 'models':
      return false;
  }
}

function followRow(before: readonly string[], after: readonly string[], cursor: number, isChosen: boolean): number {
  // At the top without a selection, the cursor stays at the top as rows arrive.
  const id = cursor > 0 || isChosen ? before[cursor] : undefined;
  const index = id === undefined ? -1 : after.indexOf(id);
  return index >= 0 ? index : Math.min(cursor, Math.max(0, after.length - 1));
}

/** Drops the result if another page has been requested since. */
function withUsers(model: Model, { ownerId, after, users, hasMore }: Extract<Event, { kind: 'users' }>): Model {
  const page = model.groups.users.get(ownerId);
  if (page === undefined || page.starts.at(-1) !== after) return model;
  const read = new Map([...model.groups.users, [ownerId, { ...page, users, hasMore }] as const]);
  return { ...model, groups: { ...model.groups, users: read } };
}

/** Keeps the cursor on its row, since new figures may change the order. */
function withUsage(model: Model, rows: readonly ComparedUsage[]): Model {
  const { by, rowsBy } = model.usage;
  const next = { ...model, usage: { ...model.usage, rows, rowsBy: by, readAtMs: model.nowMs } };
  const idsOf = (of: Model) => (of === model && rowsBy !== by ? [] : shownUsage(of).map(USAGE.idOf));
  const cursor = followRow(idsOf(model), idsOf(next), model.lists.usage.cursor, false);
  return withList(next, { cursor }, 'usage');
}

/** Pastes only where text can be typed: pasted text must not act as key presses. */
function onPaste(model: Model, text: string): Step {
  const line = text.replace(/[\r\n]+$/, '').replace(/[\r\n\t]+/g, ' ');
  if (model.dialog !== undefined) return onDialogPaste(model, model.dialog, line);
  const { filter, isTyping } = model.lists[model.view];
  // A pasted id is searched immediately.
  if (!isTyping)
    return model.view === 'requests'
      ? withFilter(model, typed(line.trim().slice(0, MAX_TYPED_CHARACTERS)))
      : step(model);
  return withFilter(
    model,
    [...line].reduce((text, character) => edited(text, character) ?? text, filter),
  );
}

/** Dialogs in which the arrow keys move; in others the wheel has no effect. */
const SCROLLED = new Set(['picker', 'palette', 'notice', 'done', 'credit_history']);

function onMouse(model: Model, { action, on }: Extract<Event, { kind: 'mouse' }>): Step {
  if (action !== 'click') {
    const isMoved = model.dialog === undefined || SCROLLED.has(model.dialog.kind);
    return isMoved ? onKey(model, action === 'wheel_up' ? 'up' : 'down') : step(model);
  }
  if (on?.on === 'key') return onKey(model, String(on.which));
  const view = on?.on === 'view' ? VIEWS.find((each) => each === on.which) : undefined;
  if (view !== undefined) return openView(model, view);
  return on === undefined ? step(model) : onViewClick(model, on);
}

function onKey(model: Model, key: string): Step {
  if (model.dialog?.kind === 'palette' && key === 'enter') return onPaletteEnter(model, model.dialog);
  if (model.dialog !== undefined) return onDialogKey(model, model.dialog, key);
  if (key === 'ctrl+c') return step(model, { kind: 'quit' });
  if (model.lists[model.view].isTyping) {
    const typing = onFilterKey(model, key);
    return model.view === 'groups' && key === 'enter' ? seekUsers(typing.model) : typing;
  }
  switch (key) {
    case 'q':
      return step(model, { kind: 'quit' });
    case ':':
      return openPalette(model);
    case '@':
      return step({ ...model, dialog: { kind: 'done', top: 0 } });
    case 'u':
      return askToUndo(model);
    case '?':
      return step({ ...model, dialog: { kind: 'help', view: model.view, top: 0 } });
    case '+':
      return step({ ...model, dialog: creditForm(1n) });
    case '-':
      return step({ ...model, dialog: creditForm(-1n) });
    case 'A':
      return step({ ...model, dialog: { kind: 'audit', read: 0, of: 0 } }, { kind: 'audit' });
    case 'h':
      return step(model, { kind: 'load_credit' });
    case '!':
      return openTrouble(model);
    case 'R':
      return step(model, { kind: 'reload' });
    case 'y':
      return copied(model, copiedText(model));
    case 'p':
      return step(model, { kind: 'picture' });
    case 'tab':
      return openView(model, VIEWS[(VIEWS.indexOf(model.view) + 1) % VIEWS.length] as View);
    case 'shift+tab':
      return openView(model, VIEWS[(VIEWS.indexOf(model.view) + VIEWS.length - 1) % VIEWS.length] as View);
  }
  const view = VIEWS[Number(key) - 1];
  return view === undefined || key.length !== 1 ? onViewKey(model, key) : openView(model, view);
}

function copied(model: Model, text: string | undefined): Step {
  if (text === undefined) return step(withMessage(model, 'No row is chosen.', 'warn'));
  return step(withMessage(model, `Copied ${text}, if this terminal supports it.`, 'good'), { kind: 'copy', text });
}

/** Opens the view of the worst trouble; each further press opens the next one, cyclically. */
function openTrouble(model: Model): Step {
  const troubles = troublesOf(model);
  const at = (troubles.findIndex(({ about }) => about === model.walk?.to) + 1) % Math.max(1, troubles.length);
  const trouble = troubles[at];
  if (trouble === undefined) return step(withMessage(model, 'Nothing is wrong.', 'good'));
  // Esc returns to the place of the first press, however many followed.
  const trailLength = Math.min(model.walk?.trailLength ?? model.trail.length, model.trail.length);
  const start = backTo(model, trailLength);
  const { model: next, effects } = intoTrouble(start.model, trouble);
  const text = `${count(at + 1)} of ${count(troubles.length)}: ${trouble.text}`;
  const told = troubles.length === 1 ? next : withMessage(next, text, trouble.tone);
  return step({ ...told, walk: { to: trouble.about, trailLength } }, ...start.effects, ...effects);
}

/** Carries out the chosen entry as if its keys had been pressed. */
function onPaletteEnter(model: Model, palette: PaletteDialog): Step {
  const chosen = chosenEntry(model, palette);
  return chosen === undefined ? step(model) : choose({ ...model, dialog: undefined }, chosen);
}

function choose(model: Model, { text, choice }: Entry): Step {
  switch (choice.kind) {
    case 'view':
      return openView(model, choice.view);
    case 'key':
      return intoKey(model, text, choice.keyId);
    case 'group':
      return intoGroup(model, text, choice.groupId);
    case 'model':
      return intoRequests(model, text, exactWord('model', choice.id));
    case 'upstream':
      return intoUpstream(model, choice.upstream);
    case 'user':
      return intoRequests(model, text, exactWord('user', choice.name));
    case 'request':
      return intoRequests(model, text, choice.id);
    case 'press': {
      const { view = model.view, key } = choice;
      const opened = view === model.view ? step(model) : openView(model, view);
      const pressed = onKey(opened.model, key);
      return step(pressed.model, ...opened.effects, ...pressed.effects);
    }
  }
}

/**
 * Opens a view and clears the trail. In Live the cursor starts at the top, since the followed requests will have
 * ended.
 */
function openView(model: Model, view: View): Step {
  const { trail, lists } = model;
  // Removes a filter that a step of the trail set.
  const unfiltered =
    trail.length === 0 ? lists : { ...lists, [model.view]: { ...lists[model.view], filter: NOTHING_TYPED } };
  const live = view === 'live' ? { ...unfiltered.live, cursor: 0 } : unfiltered.live;
  const next = withinRows({
    ...model,
    view,
    trail: [],
    walk: undefined,
    lists: { ...unfiltered, live },
    live: LIVE_AT_TOP,
  });
  switch (view) {
    case 'usage': {
      const query = { by: model.usage.by, range: model.usage.range, of: {} };
      return step({ ...next, usage: { ...next.usage, ...query } }, { kind: 'load_usage', ...query });
    }
    case 'requests':
      return searched(next);
    case 'overview':
      return step(next, ...historyToLoad(next));
    case 'keys':
    case 'live':
    case 'models':
    case 'groups':
      return step(next);
  }
}

/** Drops the result if the dialog has been closed. */
function withAudit(model: Model, event: Extract<Event, { kind: 'audit_progress' | 'audit_ended' }>): Model {
  if (model.dialog?.kind !== 'audit') return model;
  if (event.kind === 'audit_progress') return { ...model, dialog: { ...event, kind: 'audit' } };
  return { ...model, dialog: { ...event, kind: 'notice', top: 0 } };
}

/** Shows the history unless another dialog has been opened since. */
function withCredit(model: Model, entries: readonly CreditEntry[]): Model {
  if (model.dialog !== undefined && model.dialog.kind !== 'credit_history') return model;
  const newest = entries.slice(-MAX_ENTRIES).reverse();
  return { ...model, dialog: { kind: 'credit_history', entries: newest, total: entries.length, top: 0 } };
}

/** Adds a note to the outcome of an undo. */
function toldOf({ undoes, outcome }: Extract<Event, { kind: 'done' }>): Event {
  if (undoes === undefined || outcome.kind !== 'outcome' || outcome.tone === 'bad') return outcome;
  return { ...outcome, text: `Undone: ${outcome.text}` };
}

/** Builds the record of an action. It never contains a new key. */
function doneOf({ action, before, undoes, atMs, outcome }: Extract<Event, { kind: 'done' }>) {
  const told = outcome.kind === 'outcome' ? outcome : ({ text: `Created key ${outcome.name}.`, tone: 'good' } as const);
  return { action, before, undoes, atMs, text: told.text, tone: told.tone };
}

function askToUndo(model: Model): Step {
  const last = lastUndo(model);
  if (!('action' in last)) return step(withMessage(model, nothingToUndo(last.stays), 'warn'));
  const { done, action, now, isChangedSince } = last;
  const name = nameOf(now);
  const facts = [
    ['what was done', done.text],
    ['undone with', shellLine(commandsOf(action, now), model.configOption)],
  ] as const;
  const text = isChangedSince
    ? `${name} has been changed again since, and not here: that change is lost, too.`
    : `${name} gets back what it had before.`;
  const { number: undoes } = done;
  return step({
    ...model,
    dialog: {
      kind: 'confirm',
      title: 'Undo the last change?',
      text,
      facts,
      action,
      undoes,
      word: undefined,
      typed: NOTHING_TYPED,
    },
  });
}

function nameOf(subject: Subject): string {
  if (!('kind' in subject)) return subject.name;
  return `${subject.kind === 'group' ? '@' : ''}${subject.record.name}`;
}

function nothingToUndo(stays: Done | undefined): string {
  if (stays === undefined) return 'Nothing was changed here that could be undone.';
  return `This cannot be undone: ${stays.text}`;
}
