/** Key presses in the views. */
import { clean } from '../../operator/text.ts';
import { USAGE_GROUPS } from '../../state/usage.ts';
import { NOTHING_TYPED } from '../draw/typed.ts';
import { KEY_SORTS, type Model, RANGES, type StoredKey } from '../model.ts';
import { currentKey, shownKeys, shownRequests } from '../select.ts';
import { editText } from './dialogs.ts';
import { createForm, exportForm, limitsForm } from './forms.ts';
import { moveCursor, type Step, step, withMessage } from './step.ts';

/** Rows of the screen that are not rows of a view, roughly: PgUp and PgDn move by the others. */
const FRAME_ROWS = 8;

export function onViewKey(model: Model, key: string): Step {
  switch (model.view) {
    case 'overview':
      return step(model);
    case 'keys':
      return onKeysKey(model, key);
    case 'live':
      return onLiveKey(model, key);
    case 'usage':
      return onUsageKey(model, key);
    case 'models': {
      const cursor = moveCursor(model.models.cursor, key, model.stored.models.length, pageOf(model));
      return step(cursor === undefined ? model : { ...model, models: { cursor } });
    }
  }
}

function pageOf({ rows }: Model): number {
  return Math.max(1, rows - FRAME_ROWS);
}

function onKeysKey(model: Model, key: string): Step {
  const { cursor: here, detail } = model.keys;
  const cursor = moveCursor(here, key, shownKeys(model).length, pageOf(model));
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
  return current === undefined ? step(model) : onKeyAction(model, current, key);
}

/** Opens or closes the details of the key under the cursor. */
function withDetail(model: Model, isOpen: boolean): Step {
  const current = currentKey(model);
  if (!isOpen || current === undefined) return step({ ...model, keys: { ...model.keys, detail: undefined } });
  const { id: keyId } = current.record;
  const known = model.keys.detail?.keyId === keyId ? model.keys.detail : undefined;
  const detail = known ?? { keyId, byModel: [], byDay: [], refusals: [] };
  return step({ ...model, keys: { ...model.keys, detail } }, { kind: 'load_key', keyId });
}

/** Acts on the key under the cursor. */
function onKeyAction(model: Model, current: StoredKey, key: string): Step {
  const { record } = current;
  const { id: keyId, name } = record;
  switch (key) {
    case 'e':
      return step(model, { kind: 'act', action: { kind: 'set_state', keyId, state: 'enabled' } });
    case 'd':
      return confirm(model, `Disable ${name}?`, 'Its requests are refused until it is enabled again.', {
        kind: 'set_state',
        keyId,
        state: 'disabled',
      });
    case 'r':
      return confirm(
        model,
        `Rotate ${name}?`,
        'Creates a successor with the same settings. The old key works until you disable it.',
        {
          kind: 'rotate',
          keyId,
        },
      );
    case 'D':
      return confirm(
        model,
        `Delete ${name} permanently?`,
        'Its requests are refused from now on, and this cannot be undone. Its usage is kept.',
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

/** A state file from an older version may hold a name that cannot be typed. */
function isTypable(name: string): boolean {
  return name !== '' && name === name.trim() && clean(name) === name;
}

/** The models in the config, and those in the allowlist that the config no longer has. */
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
  return step({ ...model, dialog: { kind: 'confirm', title, text, action, word, typed: NOTHING_TYPED } });
}

/** Freezes the ended rows while one is selected: new ones would push it away while it is read. */
export function freezeRows(model: Model): Model {
  const { cursor, isOpen, frozen } = model.live;
  const isSelected = cursor > 0 || isOpen;
  const isFrozen = model.view === 'live' && isSelected && shownRequests(model)[cursor]?.ended_at_ms !== undefined;
  if (isFrozen === (frozen !== undefined)) return model;
  return { ...model, live: { ...model.live, frozen: isFrozen ? model.ended : undefined } };
}

function onLiveKey(model: Model, key: string): Step {
  const rows = shownRequests(model);
  const cursor = moveCursor(model.live.cursor, key, rows.length, pageOf(model));
  if (cursor !== undefined) return step(freezeRows({ ...model, live: { ...model.live, cursor } }));
  if (key === 'enter' || key === 'escape') {
    const isOpen = key === 'enter' && !model.live.isOpen;
    return step(freezeRows({ ...model, live: { ...model.live, isOpen } }));
  }
  const current = rows[model.live.cursor];
  if (key !== 'x' || current === undefined) return step(model);
  if (current.ended_at_ms !== undefined) return step(withMessage(model, 'This request has already ended.', 'warn'));
  const { id, elsewhere } = current;
  const where = elsewhere === undefined ? '' : ` on ${clean(elsewhere.node)}`;
  return confirm(
    model,
    `Stop ${id}${where}?`,
    'Its client gets an error, and the tokens used so far are charged.',
    elsewhere === undefined ? { kind: 'stop_request', id } : { kind: 'stop_elsewhere', id, node: elsewhere.node },
  );
}

function onUsageKey(model: Model, key: string): Step {
  const { by, range, rows, rowsBy, cursor: here } = model.usage;
  const cursor = moveCursor(here, key, rows.length, pageOf(model));
  if (cursor !== undefined) return step({ ...model, usage: { ...model.usage, cursor } });
  const show = (next: Partial<Pick<Model['usage'], 'by' | 'range'>>): Step => {
    const query = { by, range, ...next };
    return step({ ...model, usage: { ...model.usage, ...query, cursor: 0 } }, { kind: 'load_usage', ...query });
  };
  switch (key) {
    case 'left':
      return show({ by: before(USAGE_GROUPS, by) });
    case 'right':
      return show({ by: after(USAGE_GROUPS, by) });
    case '[':
      return show({ range: before(RANGES, range) });
    case ']':
      return show({ range: after(RANGES, range) });
    case 'w':
      return step({ ...model, dialog: exportForm(`usage-by-${rowsBy}.csv`) });
    default:
      return step(model);
  }
}

/** A key press while the filter is being typed. */
export function onFilterKey(model: Model, key: string): Step {
  if (key === 'enter' || key === 'escape') return step({ ...model, keys: { ...model.keys, isTyping: false } });
  const filter = editText(model.keys.filter, key);
  if (filter === undefined) return step(model);
  return step({ ...model, keys: { ...model.keys, filter, cursor: 0, detail: undefined } });
}

function after<T>(list: readonly T[], item: T): T {
  return list[(list.indexOf(item) + 1) % list.length] as T;
}

function before<T>(list: readonly T[], item: T): T {
  return list[(list.indexOf(item) + list.length - 1) % list.length] as T;
}
