/** Where reports on audits, credit and changes go in the model. Pure. */
import type { CreditEntry } from '../../state/account.ts';
import { MAX_ENTRIES } from '../credit-lines.ts';
import type { Model } from '../model.ts';
import type { Event } from './step.ts';

/** Nothing if nobody waits for it any more. */
export function withAudit(model: Model, event: Extract<Event, { kind: 'audit_progress' | 'audit_ended' }>): Model {
  if (model.dialog?.kind !== 'audit') return model;
  if (event.kind === 'audit_progress') return { ...model, dialog: { ...event, kind: 'audit' } };
  return { ...model, dialog: { ...event, kind: 'notice', top: 0 } };
}

/** Not over what has been opened in the meantime. */
export function withCredit(model: Model, entries: readonly CreditEntry[]): Model {
  if (model.dialog !== undefined && model.dialog.kind !== 'credit_history') return model;
  const newest = entries.slice(-MAX_ENTRIES).reverse();
  return { ...model, dialog: { kind: 'credit_history', entries: newest, total: entries.length, top: 0 } };
}

/** A new key is never among what is remembered. */
export function doneOf({ deed, before, undoes, atMs, outcome }: Extract<Event, { kind: 'done' }>) {
  const told = outcome.kind === 'outcome' ? outcome : ({ text: `Created key ${outcome.name}.`, tone: 'good' } as const);
  return { deed, before, undoes, atMs, text: told.text, tone: told.tone };
}
