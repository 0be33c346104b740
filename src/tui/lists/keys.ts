/** The list of keys. Pure. */
import { NANOS_PER_USD } from '../../core/money.ts';
import { shareSpent, tightest } from '../../operator/spending.ts';
import type { Model, StoredGroup, StoredKey } from '../model.ts';
import { activityById, blockerOf, groupsById } from '../select.ts';
import { type Field, type Listed, shownOf } from './list.ts';

/** A figure per minute, as the gateway counts it; undefined for a key that it does not report. */
function activity(read: 'requests' | 'tokens' | 'open'): Field<StoredKey> {
  return { read: ({ record }, model) => activityById(model).get(record.id)?.[read], isLive: true };
}

export const KEYS: Listed<StoredKey> = {
  rows: ({ stored }) => stored.keys,
  idOf: ({ record }) => record.id,
  fields: {
    name: { read: ({ record }) => record.name, isText: true, isFixed: true },
    state: { read: stateOf, isText: true },
    rpm: activity('requests'),
    tpm: activity('tokens'),
    inflight: activity('open'),
    requests: { read: ({ month }) => month.requests },
    tokens: { read: ({ month }) => month.tokens },
    cost: { read: ({ month }) => Number(month.costNanos) / Number(NANOS_PER_USD) },
    limit: { read: shareOfLimit },
    used: { read: ({ lastUsedMs }, { nowMs }) => lastUsedMs && (nowMs - lastUsedMs) / 1_000, isTime: true },
    age: { read: ({ record }, { nowMs }) => (nowMs - record.createdAtMs) / 1_000, isTime: true },
    group: { read: groupOf, isText: true },
    id: { read: ({ record }) => record.id, isHidden: true, isText: true, isFixed: true },
    key: { read: ({ record }) => record.preview, isHidden: true, isText: true, isFixed: true },
    model: { read: modelsOf, isHidden: true, isNamed: true, isText: true },
  },
};

/** The key's models. They match only with the field name, since a bare word would find every key. */
function modelsOf({ record }: StoredKey, { stored }: Model): string {
  return (record.allowlist ?? stored.models.map(({ id }) => id)).join(' ');
}

/** Returns the spent percentage of the tightest bound; undefined without one. */
function shareOfLimit({ bounds }: StoredKey, { nowMs }: Model): number | undefined {
  const bound = tightest(bounds, nowMs);
  return bound && Math.floor(shareSpent(bound) * 100);
}

/** Returns `disabled`, `expired` or `spent`, which a key also inherits from its groups. */
export function stateOf(level: StoredKey | StoredGroup, model: Model): string {
  return blockerOf(level, model)?.reason ?? 'enabled';
}

/** Returns the group's name with its sign; undefined without a group. */
function groupOf({ record }: StoredKey, model: Model): string | undefined {
  const name = groupsById(model).get(record.groupId ?? '')?.record.name;
  return name === undefined ? undefined : `@${name}`;
}

export function shownKeys(model: Model): readonly StoredKey[] {
  return shownOf('keys', KEYS, model);
}

export function currentKey(model: Model): StoredKey | undefined {
  return shownKeys(model)[model.lists.keys.cursor];
}
