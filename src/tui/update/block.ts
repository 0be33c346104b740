/** Blocks the end user of a request or a row of usage. Pure. */
import { shownJournal } from '../lists/journal.ts';
import { shownRequests } from '../lists/live.ts';
import { shownUsage } from '../lists/usage.ts';
import type { Model } from '../model.ts';
import { levelById } from '../select.ts';
import { confirm } from './key-actions.ts';
import { READ_ONLY, type Step, step, withMessage } from './step.ts';

/** An end user, and the key of their requests; undefined for the sum of several keys. */
interface Named {
  readonly user: string;
  readonly keyId: string | undefined;
}

/** Asks whether to block the end user of the row under the cursor. */
export function blockUser(model: Model): Step {
  if (model.isReadOnly) return step(withMessage(model, READ_ONLY, 'warn'));
  const named = namedUser(model);
  if (named === undefined) return step(withMessage(model, 'No end user is named here.', 'warn'));
  const { user, keyId } = named;
  if (keyId === undefined)
    return step(
      withMessage(model, `${user} may use several keys: press Enter, and b on one of their requests.`, 'warn'),
    );
  const ownerId = ownerOf(model, keyId);
  const owner = levelById(model, ownerId);
  if (owner === undefined) return step(withMessage(model, 'The key of this request is deleted.', 'warn'));
  const at = ownerId === keyId ? owner.record.name : `@${owner.record.name}`;
  const text = `Their requests with ${at} are refused until they are unblocked, with e in Groups.`;
  const level = { kind: 'user', ownerId, name: user } as const;
  return confirm(model, `Block ${user}?`, text, { kind: 'set_level_state', level, state: 'disabled' });
}

function namedUser(model: Model): Named | undefined {
  const { cursor } = model.lists[model.view];
  switch (model.view) {
    case 'live': {
      const { user, key_id: keyId } = shownRequests(model)[cursor] ?? {};
      return user === undefined || user === '' ? undefined : { user, keyId };
    }
    case 'requests': {
      const row = shownJournal(model)[cursor];
      const user = row?.refused?.user || row?.end?.spentBy?.user;
      return user === undefined || user === '' ? undefined : { user, keyId: row?.keyId };
    }
    case 'usage': {
      const user = shownUsage(model)[cursor]?.user;
      return user === undefined || user === '' ? undefined : { user, keyId: model.usage.of.key?.id };
    }
    case 'overview':
    case 'keys':
    case 'models':
    case 'groups':
      return undefined;
  }
}

/** Returns the innermost level with end users, from the key outwards; without one, the key itself. */
function ownerOf(model: Model, keyId: string): string {
  let level = levelById(model, keyId);
  while (level !== undefined && level.record.userLimits === null) {
    const { record } = level;
    level = levelById(model, ('parentId' in record ? record.parentId : null) ?? record.groupId ?? '');
  }
  return level?.record.id ?? keyId;
}
