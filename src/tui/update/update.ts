/** The next model after an event. Pure: whatever has to be done is returned as effects. */
import { clean, widthOf } from '../../operator/text.ts';
import type { UsageRow } from '../../state/usage.ts';
import { AT_TOP, type Dialog, type Model, VIEWS, type View } from '../model.ts';
import { shownKeys, shownRequests } from '../select.ts';
import { troublesOf } from '../trouble.ts';
import { onDialogKey, onDialogPaste } from './dialogs.ts';
import { creditForm } from './forms.ts';
import { type Event, type Step, step, withEnded, withMessage, withSeconds } from './step.ts';
import { freezeRows, onFilterKey, onViewKey } from './views.ts';

export function update(model: Model, event: Event): Step {
  switch (event.kind) {
    case 'key':
      return permitted(model, onKey(model, event.key));
    case 'paste':
      return permitted(model, onPaste(model, event.text));
    case 'resize':
      return step({ ...model, columns: event.columns, rows: event.rows });
    case 'tick':
      return step(withoutOldMessage({ ...model, nowMs: event.nowMs }));
    case 'snapshot':
      return step(withSnapshot(model, event));
    case 'disconnected':
      return step({ ...model, snapshot: undefined, isConnecting: false, socketError: event.socketError });
    case 'stored':
      return step(withCursors({ ...model, stored: event.stored }, model));
    case 'shared':
      return step(withCursors({ ...model, shared: event.shared }, model));
    case 'key_detail': {
      const isOpen = model.keys.detail?.keyId === event.detail.keyId;
      return step(isOpen ? { ...model, keys: { ...model.keys, detail: event.detail } } : model);
    }
    case 'usage':
      return step({ ...model, usage: withRows(model.usage, event.rows, model.nowMs) });
    case 'outcome':
      return step(withMessage(model, event.text, event.tone));
    case 'failed':
      return step(withFailure(model, event));
    case 'key_created':
      return step({
        ...model,
        dialog: { kind: 'secret', name: event.name, secret: event.secret, copied: false, leaving: false },
      });
  }
}

/** In a dialog if a line has no room for it. What is open already stays: a new key is shown only once. */
function withFailure(model: Model, { title, lines }: Extract<Event, { kind: 'failed' }>): Model {
  const text = lines.join(' · ');
  const isShort = widthOf(clean(text)) < model.columns;
  if (isShort || model.dialog !== undefined) return withMessage(model, text, 'bad');
  return { ...model, dialog: { kind: 'notice', title, lines, top: 0 } };
}

/** A read-only dashboard refuses what changes something, or asks whether it should. */
function permitted(model: Model, next: Step): Step {
  const changes =
    isForChange(next.model.dialog) || next.effects.some(({ kind }) => kind === 'act' || kind === 'reload');
  return model.isReadOnly && changes ? step(withMessage(model, 'This dashboard is read-only.', 'warn')) : next;
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
    case 'help':
    case undefined:
      return false;
  }
}

function withSnapshot(model: Model, { snapshot }: Extract<Event, { kind: 'snapshot' }>): Model {
  const nowMs = snapshot.now_ms;
  // After a gap, or with another gateway, the known seconds are still part of the past.
  const seconds = withSeconds(model.seconds, snapshot.seconds, nowMs);
  const ended = withEnded(model.ended, snapshot.recent);
  return withCursors(
    withoutOldMessage({
      ...model,
      nowMs,
      snapshot,
      isConnecting: false,
      wasConnected: true,
      socketError: undefined,
      seconds,
      ended,
    }),
    model,
  );
}

function withoutOldMessage(model: Model): Model {
  return model.message !== undefined && model.message.untilMs < model.nowMs ? { ...model, message: undefined } : model;
}

/** Keeps each cursor on its row as rows come and go, or in its place if the row is gone. */
function withCursors(model: Model, before: Model): Model {
  const requestIds = (of: Model) => shownRequests(of).map(({ id }) => id);
  const { cursor, isOpen } = model.live;
  return freezeRows({
    ...model,
    keys: withKeyCursor(model, before),
    live: { ...model.live, cursor: followRow(requestIds(before), requestIds(model), cursor, isOpen) },
    models: { cursor: clamp(model.models.cursor, model.stored.models.length) },
  });
}

function withKeyCursor(model: Model, before: Model): Model['keys'] {
  const { keys } = model;
  if (model.stored.keys === before.stored.keys) return keys;
  const keyIds = (of: Model) => shownKeys(of).map(({ record }) => record.id);
  const idsBefore = keyIds(before);
  const ids = keyIds(model);
  const cursor = followRow(idsBefore, ids, keys.cursor, keys.detail !== undefined);
  // One key's figures must never appear under another's name.
  const detail = ids[cursor] === keys.detail?.keyId ? keys.detail : undefined;
  return { ...keys, cursor, detail };
}

function followRow(before: readonly string[], after: readonly string[], cursor: number, isChosen: boolean): number {
  // At the top the user is watching what comes in, so the cursor stays there.
  const id = cursor > 0 || isChosen ? before[cursor] : undefined;
  const index = id === undefined ? -1 : after.indexOf(id);
  return index >= 0 ? index : clamp(cursor, after.length);
}

/** Keeps the cursor on its row: figures that are read again may have another order. */
function withRows(usage: Model['usage'], rows: readonly UsageRow[], readAtMs: number): Model['usage'] {
  const { by } = usage;
  const idsOf = (of: readonly UsageRow[]) => of.map((row) => (by === 'key' ? row.keyId : row[by]) ?? '');
  const before = usage.rowsBy === by ? idsOf(usage.rows) : [];
  const cursor = followRow(before, idsOf(rows), usage.cursor, false);
  return { ...usage, rows, rowsBy: by, readAtMs, cursor };
}

function clamp(cursor: number, rows: number): number {
  return Math.max(0, Math.min(cursor, rows - 1));
}

/** Pastes only where text can be typed: pasted text must not act as key presses. */
function onPaste(model: Model, text: string): Step {
  const line = text.replace(/[\r\n]+$/, '').replace(/[\r\n\t]+/g, ' ');
  if (model.dialog !== undefined) return onDialogPaste(model, model.dialog, line);
  if (model.view !== 'keys' || !model.keys.isTyping) return step(model);
  return [...line].reduce<Step>((last, character) => onFilterKey(last.model, character), step(model));
}

function onKey(model: Model, key: string): Step {
  if (model.dialog !== undefined) return onDialogKey(model, model.dialog, key);
  if (key === 'ctrl+c') return step(model, { kind: 'quit' });
  if (model.view === 'keys' && model.keys.isTyping) return onFilterKey(model, key);
  switch (key) {
    case 'q':
      return step(model, { kind: 'quit' });
    case '?':
      return step({ ...model, dialog: { kind: 'help', view: model.view } });
    case '+':
      return step({ ...model, dialog: creditForm() });
    case '!':
      return openTrouble(model);
    case 'R':
      return step(model, { kind: 'reload' });
    case 'tab':
      return openView(model, VIEWS[(VIEWS.indexOf(model.view) + 1) % VIEWS.length] as View);
    case 'shift+tab':
      return openView(model, VIEWS[(VIEWS.indexOf(model.view) + VIEWS.length - 1) % VIEWS.length] as View);
  }
  const view = VIEWS[Number(key) - 1];
  return view === undefined || key.length !== 1 ? onViewKey(model, key) : openView(model, view);
}

/** Goes to where the worst trouble is looked into. */
function openTrouble(model: Model): Step {
  const [worst] = troublesOf(model);
  if (worst === undefined) return step(withMessage(model, 'Nothing is wrong.', 'good'));
  if (worst.keyId === undefined) return openView(model, worst.view);
  const all = { ...model, view: worst.view, live: AT_TOP, keys: { ...model.keys, filter: '' } };
  const cursor = shownKeys(all).findIndex(({ record }) => record.id === worst.keyId);
  return onViewKey({ ...all, keys: { ...all.keys, cursor: Math.max(0, cursor), detail: undefined } }, 'enter');
}

function openView(model: Model, view: View): Step {
  // Requests are followed only while Live is open, so the selected row will be gone.
  const next = { ...model, view, live: AT_TOP };
  const { by, range } = model.usage;
  return view === 'usage' ? step(next, { kind: 'load_usage', by, range }) : step(next);
}
