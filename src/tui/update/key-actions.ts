/** Actions on a key: its details, its state, its limits, its models. Pure. */

import { ago, countOf, usd } from '../../operator/format.ts';
import { deletedWith } from '../../operator/messages.ts';
import { clean } from '../../operator/text.ts';
import { isGone } from '../../state/keys.ts';
import { NO_USER_LIMITS } from '../../state/levels.ts';
import { NOTHING_TYPED } from '../draw/typed.ts';
import { currentKey } from '../lists/keys.ts';
import type { Dialog, Model, StoredKey } from '../model.ts';
import { groupsById } from '../select.ts';
import { createForm, limitsForm, moveForm, usersForm } from './forms.ts';
import { pickerOptions } from './picker.ts';
import { type Step, step, withMessage } from './step.ts';

/** Opens the details of the key under the cursor, if any. */
export function openDetail(model: Model): Step {
  const current = currentKey(model);
  if (current === undefined) return closeDetail(model);
  const { id: keyId } = current.record;
  const known = model.keys.detail?.keyId === keyId ? model.keys.detail : undefined;
  const detail = known ?? { keyId, byModel: [], byDay: [], refusals: [], refusedLately: [] };
  return step({ ...model, keys: { detail } }, { kind: 'load_key', keyId });
}

export function closeDetail(model: Model): Step {
  return step({ ...model, keys: { detail: undefined } });
}

/** Acts on the key under the cursor, or creates one. */
export function onKeyAction(model: Model, current: StoredKey | undefined, key: string): Step {
  if (key === 'n') return step({ ...model, dialog: createForm() });
  if (current === undefined) return step(model);
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
    case 'r': {
      // The successor of an expired key would be refused as well.
      if (isGone(record, model.nowMs)) {
        return step(withMessage(model, `${name} has expired. Give it more time first, with l.`, 'warn'));
      }
      const old =
        record.state === 'enabled' ? 'The old key works until you disable it.' : 'The old key stays disabled.';
      return confirm(model, `Rotate ${name}?`, `Creates a successor with the same settings. ${old}`, {
        kind: 'rotate',
        keyId,
      });
    }
    case 'D': {
      const made = model.stored.keys.filter(({ record: { parentId } }) => parentId === keyId).length;
      return confirm(
        model,
        `Delete ${name} permanently?`,
        `${deletedWith(made)}Its requests are refused from now on, and this cannot be undone. Its usage is kept.`,
        { kind: 'set_state', keyId, state: 'deleted' },
        { word: isTypable(name) ? name : keyId, facts: keyFacts(current, model.nowMs) },
      );
    }
    case 'l':
      return step({ ...model, dialog: limitsForm(current) });
    case 'm': {
      const { allowlist: chosen } = record;
      const options = pickerOptions(model, chosen);
      const saves = { kind: 'key', keyId } as const;
      return step({ ...model, dialog: { kind: 'picker', saves, name, options, chosen, cursor: 0 } });
    }
    case 'U':
      return step({ ...model, dialog: usersForm(name, { keyId }, record.userLimits ?? NO_USER_LIMITS) });
    case 'M':
      return step({ ...model, dialog: moveForm(name, { keyId }, groupName(model, record.groupId)) });
    default:
      return step(model);
  }
}

/** Returns a group's name; empty without a group. */
export function groupName(model: Model, groupId: string | null): string {
  return groupsById(model).get(groupId ?? '')?.record.name ?? '';
}

/** Whether a name can be typed; a state file from an older version may contain others. */
export function isTypable(name: string): boolean {
  return name !== '' && name === name.trim() && clean(name) === name;
}

type ConfirmDialog = Extract<Dialog, { kind: 'confirm' }>;

/** Asks for a confirmation. */
export function confirm(
  model: Model,
  title: string,
  text: string,
  action: ConfirmDialog['action'],
  { word, ...more }: Partial<Pick<ConfirmDialog, 'word' | 'facts'>> = {},
): Step {
  return step({ ...model, dialog: { kind: 'confirm', title, text, action, word, typed: NOTHING_TYPED, ...more } });
}

function keyFacts({ month, lastUsedMs }: StoredKey, nowMs: number): readonly (readonly [string, string])[] {
  return [
    ['this month', `${countOf(month.requests, 'request')}, ${usd(month.costNanos)} USD`],
    ['last used', lastUsedMs === undefined ? 'never' : ago((nowMs - lastUsedMs) / 1_000)],
  ];
}
