/** Keys of the views themselves. */
import { USAGE_GROUPS } from '../../state/usage.ts';
import { clean } from '../draw/text.ts';
import { KEY_SORTS, type Model, RANGES, type StoredKey } from '../model.ts';
import { currentKey, shownKeys, shownRequests } from '../select.ts';
import { typed } from './dialogs.ts';
import { createForm, exportForm, limitsForm } from './forms.ts';
import { moved, type Step, saying, step } from './step.ts';

/** Rows of a page: what a view has of the screen, about. */
const FRAME_ROWS = 8;

export function inView(model: Model, key: string): Step {
  switch (model.view) {
    case 'overview':
      return step(model);
    case 'keys':
      return inKeys(model, key);
    case 'live':
      return inLive(model, key);
    case 'usage':
      return inUsage(model, key);
    case 'models': {
      const cursor = moved(model.models.cursor, key, model.stored.models.length, pageOf(model));
      return step(cursor === undefined ? model : { ...model, models: { cursor } });
    }
  }
}

function pageOf({ rows }: Model): number {
  return Math.max(1, rows - FRAME_ROWS);
}

function inKeys(model: Model, key: string): Step {
  const { cursor: here, detail } = model.keys;
  const cursor = moved(here, key, shownKeys(model).length, pageOf(model));
  if (cursor !== undefined) return withDetail({ ...model, keys: { ...model.keys, cursor } }, detail !== undefined);
  switch (key) {
    case '/':
      return step({ ...model, keys: { ...model.keys, isTyping: true } });
    case 's':
      return withDetail(
        { ...model, keys: { ...model.keys, sort: after(KEY_SORTS, model.keys.sort), cursor: 0 } },
        detail !== undefined,
      );
    case 'n':
      return step({ ...model, dialog: createForm() });
    case 'enter':
      return withDetail(model, detail === undefined);
    case 'escape':
      return withDetail({ ...model, keys: { ...model.keys, filter: '' } }, false);
  }
  const current = currentKey(model);
  return current === undefined ? step(model) : withKey(model, current, key);
}

/** With the details of the key under the cursor, or without. */
function withDetail(model: Model, isOpen: boolean): Step {
  const current = currentKey(model);
  if (!isOpen || current === undefined) return step({ ...model, keys: { ...model.keys, detail: undefined } });
  const { id: keyId } = current.record;
  const known = model.keys.detail?.keyId === keyId ? model.keys.detail : undefined;
  const detail = known ?? { keyId, byModel: [], byDay: [], refusals: [] };
  return step({ ...model, keys: { ...model.keys, detail } }, { kind: 'load_key', keyId });
}

/** What is done to the key under the cursor. */
function withKey(model: Model, current: StoredKey, key: string): Step {
  const { record } = current;
  const { id: keyId, name } = record;
  switch (key) {
    case 'e':
      return step(model, { kind: 'act', action: { kind: 'set_state', keyId, state: 'enabled' } });
    case 'd':
      return confirm(model, `Disable ${name}?`, 'Its requests are refused from now on, until it is enabled.', {
        kind: 'set_state',
        keyId,
        state: 'disabled',
      });
    case 'r':
      return confirm(
        model,
        `Make a successor of ${name}?`,
        'It has the same settings. The old key works until you disable it.',
        {
          kind: 'rotate',
          keyId,
        },
      );
    case 'D':
      return confirm(
        model,
        `Delete ${name} for ever?`,
        'Its requests are refused from now on, and it cannot come back. Its usage stays on record.',
        { kind: 'set_state', keyId, state: 'deleted' },
        isTypable(name) ? name : keyId,
      );
    case 'l':
      return step({ ...model, dialog: limitsForm(current) });
    case 'm':
      return step({
        ...model,
        dialog: {
          kind: 'picker',
          keyId,
          name,
          options: optionsFor(model, record.allowlist),
          chosen: record.allowlist,
          cursor: 0,
        },
      });
    default:
      return step(model);
  }
}

/** Older programs may have written a name that no keyboard has. */
function isTypable(name: string): boolean {
  return name !== '' && name === name.trim() && clean(name) === name;
}

/** The models of the config, and those that are on the list though the config has them no longer. */
function optionsFor({ stored }: Model, allowlist: readonly string[] | null): string[] {
  return [...new Set([...stored.models.map(({ id }) => id), ...(allowlist ?? [])])];
}

function confirm(
  model: Model,
  title: string,
  text: string,
  action: Extract<Model['dialog'], { kind: 'confirm' }>['action'],
  word?: string,
): Step {
  return step({ ...model, dialog: { kind: 'confirm', title, text, action, word, typed: '' } });
}

/** Rows that have ended stand still while one of them is chosen: else new ones would push it out before it is read. */
export function holding(model: Model): Model {
  const { cursor, isOpen, held } = model.live;
  const isChosen = cursor > 0 || isOpen;
  const isHeld = model.view === 'live' && isChosen && shownRequests(model)[cursor]?.ended_at_ms !== undefined;
  if (isHeld === (held !== undefined)) return model;
  return { ...model, live: { ...model.live, held: isHeld ? model.ended : undefined } };
}

function inLive(model: Model, key: string): Step {
  const rows = shownRequests(model);
  const cursor = moved(model.live.cursor, key, rows.length, pageOf(model));
  if (cursor !== undefined) return step(holding({ ...model, live: { ...model.live, cursor } }));
  if (key === 'enter' || key === 'escape') {
    const isOpen = key === 'enter' && !model.live.isOpen;
    return step(holding({ ...model, live: { ...model.live, isOpen } }));
  }
  const current = rows[model.live.cursor];
  if (key !== 'x' || current === undefined) return step(model);
  if (current.ended_at_ms !== undefined) return step(saying(model, 'This request has ended.', 'warn'));
  return confirm(model, `Stop ${current.id}?`, 'Its client gets an error, and what it has used is charged.', {
    kind: 'stop_request',
    id: current.id,
  });
}

function inUsage(model: Model, key: string): Step {
  const { by, range, rows, cursor: here } = model.usage;
  const cursor = moved(here, key, rows.length, pageOf(model));
  if (cursor !== undefined) return step({ ...model, usage: { ...model.usage, cursor } });
  const shown = (next: Partial<Pick<Model['usage'], 'by' | 'range'>>): Step => {
    const wanted = { by, range, ...next };
    return step({ ...model, usage: { ...model.usage, ...wanted, cursor: 0 } }, { kind: 'load_usage', ...wanted });
  };
  switch (key) {
    case 'left':
      return shown({ by: before(USAGE_GROUPS, by) });
    case 'right':
      return shown({ by: after(USAGE_GROUPS, by) });
    case '[':
      return shown({ range: before(RANGES, range) });
    case ']':
      return shown({ range: after(RANGES, range) });
    case 'w':
      return step({ ...model, dialog: exportForm(`usage-by-${by}.csv`) });
    default:
      return step(model);
  }
}

/** While the filter is typed. */
export function inFilter(model: Model, key: string): Step {
  if (key === 'enter' || key === 'escape') return step({ ...model, keys: { ...model.keys, isTyping: false } });
  const filter = typed(model.keys.filter, key);
  if (filter === undefined) return step(model);
  return step({ ...model, keys: { ...model.keys, filter, cursor: 0, detail: undefined } });
}

function after<T>(list: readonly T[], item: T): T {
  return list[(list.indexOf(item) + 1) % list.length] as T;
}

function before<T>(list: readonly T[], item: T): T {
  return list[(list.indexOf(item) + list.length - 1) % list.length] as T;
}
