/** Stops requests, and keeps rows in place while one of them is selected. Pure. */

import { parseUsd } from '../../core/money.ts';
import { duration, usd } from '../../operator/format.ts';
import { clean } from '../../operator/text.ts';
import { NOTHING_TYPED } from '../draw/typed.ts';
import { shownRequests } from '../lists/live.ts';
import type { LiveRow, Model } from '../model.ts';
import { keyNames } from '../select.ts';
import { type Step, step, withMessage } from './step.ts';

/** Freezes the ended rows while one is selected: new ones would push it away. */
export function freezeRows(model: Model): Model {
  const { isOpen, frozen } = model.live;
  const { cursor } = model.lists.live;
  const isSelected = cursor > 0 || isOpen;
  const isFrozen = model.view === 'live' && isSelected && shownRequests(model)[cursor]?.ended_at_ms !== undefined;
  if (isFrozen === (frozen !== undefined)) return model;
  return { ...model, live: { ...model.live, frozen: isFrozen ? model.ended : undefined } };
}

export function onLiveAction(model: Model, current: LiveRow, key: string): Step {
  if (key !== 'x') return step(model);
  if (current.ended_at_ms !== undefined) return step(withMessage(model, 'This request has already ended.', 'warn'));
  const { id, elsewhere } = current;
  const where = elsewhere === undefined ? '' : ` on ${clean(elsewhere.node)}`;
  return step({
    ...model,
    // Freezes all rows, so that the row in question stays in place behind the dialog.
    live: { ...model.live, asked: shownRequests(model) },
    dialog: {
      kind: 'confirm',
      title: `Stop ${id}${where}?`,
      text: 'Its client gets an error, and the tokens used so far are charged.',
      facts: factsOf(model, current),
      action:
        elsewhere === undefined ? { kind: 'stop_request', id } : { kind: 'stop_elsewhere', id, node: elsewhere.node },
      word: undefined,
      typed: NOTHING_TYPED,
    },
  });
}

function factsOf(model: Model, { key_id: keyId, model: name, admitted_at_ms: admittedAtMs, ...row }: LiveRow) {
  const cost =
    row.elsewhere === undefined
      ? `${usd(parseUsd(row.cost_usd) ?? 0n)} USD so far`
      : `at most ${usd(row.elsewhere.holdNanos)} USD`;
  return [
    ['key', keyNames(model)(keyId)],
    ['model', name],
    ['age', duration((model.nowMs - admittedAtMs) / 1_000)],
    ['cost', cost],
  ] as const;
}
