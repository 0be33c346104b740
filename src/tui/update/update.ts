/** The next screen: from the one that is there, and what has happened. Pure; what is to be done comes back as effects. */
import { AT_TOP, type Model, VIEWS, type View } from '../model.ts';
import { shownKeys, shownRequests } from '../select.ts';
import { inDialog, pasted } from './dialogs.ts';
import { creditForm } from './forms.ts';
import { type Event, type Step, saying, step, withEnded, withSeconds } from './step.ts';
import { holding, inFilter, inView } from './views.ts';

export function update(model: Model, event: Event): Step {
  switch (event.kind) {
    case 'key':
      return onKey(model, event.key);
    case 'paste':
      return onPaste(model, event.text);
    case 'resize':
      return step({ ...model, columns: event.columns, rows: event.rows });
    case 'tick':
      return step(withoutOldMessage({ ...model, nowMs: event.nowMs }));
    case 'snapshot':
      return step(withSnapshot(model, event));
    case 'disconnected':
      return step({ ...model, snapshot: undefined, refused: event.refused });
    case 'stored':
      return step(withCursors({ ...model, stored: event.stored }, model));
    case 'key_detail': {
      const isWanted = model.keys.detail?.keyId === event.detail.keyId;
      return step(isWanted ? { ...model, keys: { ...model.keys, detail: event.detail } } : model);
    }
    case 'usage':
      return step({
        ...model,
        usage: { ...model.usage, rows: event.rows, cursor: within(model.usage.cursor, event.rows.length) },
      });
    case 'outcome':
      return step(saying(model, event.text, event.tone));
    case 'made_key':
      return step({
        ...model,
        dialog: { kind: 'secret', name: event.name, secret: event.secret, copied: false, leaving: false },
      });
  }
}

function withSnapshot(model: Model, { snapshot }: Extract<Event, { kind: 'snapshot' }>): Model {
  const nowMs = snapshot.now_ms;
  // After a gap, or from another gateway, the seconds that are known belong to the past all the same.
  const seconds = withSeconds(model.seconds, snapshot.seconds, nowMs);
  const ended = withEnded(model.ended, snapshot.recent);
  return withCursors(
    withoutOldMessage({ ...model, nowMs, snapshot, wasConnected: true, refused: undefined, seconds, ended }),
    model,
  );
}

function withoutOldMessage(model: Model): Model {
  return model.message !== undefined && model.message.untilMs < model.nowMs ? { ...model, message: undefined } : model;
}

/** Rows come and go: each cursor stays with the row that it was on, or else where it was. */
function withCursors(model: Model, before: Model): Model {
  const requestIds = (of: Model) => shownRequests(of).map(({ id }) => id);
  const { cursor, isOpen } = model.live;
  return holding({
    ...model,
    keys: keysFollowing(model, before),
    live: { ...model.live, cursor: following(requestIds(before), requestIds(model), cursor, isOpen) },
    models: { cursor: within(model.models.cursor, model.stored.models.length) },
  });
}

function keysFollowing(model: Model, before: Model): Model['keys'] {
  const { keys } = model;
  if (model.stored.keys === before.stored.keys) return keys;
  const keyIds = (of: Model) => shownKeys(of).map(({ record }) => record.id);
  const was = keyIds(before);
  const are = keyIds(model);
  const cursor = following(was, are, keys.cursor, keys.detail !== undefined);
  // The figures of one key must never stand beside the name of another.
  const detail = are[cursor] === keys.detail?.keyId ? keys.detail : undefined;
  return { ...keys, cursor, detail };
}

function following(before: readonly string[], after: readonly string[], cursor: number, isChosen: boolean): number {
  // At the top one watches what comes, wherever it comes in, unless that row has been chosen.
  const id = cursor > 0 || isChosen ? before[cursor] : undefined;
  const index = id === undefined ? -1 : after.indexOf(id);
  return index >= 0 ? index : within(cursor, after.length);
}

function within(cursor: number, rows: number): number {
  return Math.max(0, Math.min(cursor, rows - 1));
}

/** Goes where a text is typed, and nowhere else: a text is not meant as keys. */
function onPaste(model: Model, text: string): Step {
  const line = text.replace(/[\r\n]+$/, '').replace(/[\r\n\t]+/g, ' ');
  if (model.dialog !== undefined) return pasted(model, model.dialog, line);
  if (model.view !== 'keys' || !model.keys.isTyping) return step(model);
  return [...line].reduce<Step>((last, character) => inFilter(last.model, character), step(model));
}

function onKey(model: Model, key: string): Step {
  if (model.dialog !== undefined) return inDialog(model, model.dialog, key);
  if (key === 'ctrl+c') return step(model, { kind: 'quit' });
  if (model.view === 'keys' && model.keys.isTyping) return inFilter(model, key);
  switch (key) {
    case 'q':
      return step(model, { kind: 'quit' });
    case '?':
      return step({ ...model, dialog: { kind: 'help', view: model.view } });
    case '+':
      return step({ ...model, dialog: creditForm() });
    case 'R':
      return step(model, { kind: 'reload' });
    case 'tab':
      return opened(model, VIEWS[(VIEWS.indexOf(model.view) + 1) % VIEWS.length] as View);
    case 'shift+tab':
      return opened(model, VIEWS[(VIEWS.indexOf(model.view) + VIEWS.length - 1) % VIEWS.length] as View);
  }
  const view = VIEWS[Number(key) - 1];
  return view === undefined || key.length !== 1 ? inView(model, key) : opened(model, view);
}

function opened(model: Model, view: View): Step {
  // Requests are told of only while they are to be seen: the row that was chosen is not among the next ones.
  const next = { ...model, view, live: AT_TOP };
  const { by, range } = model.usage;
  return view === 'usage' ? step(next, { kind: 'load_usage', by, range }) : step(next);
}
