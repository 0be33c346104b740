/** Key presses and pastes while a dialog is open. */
import { usd } from '../../operator/format.ts';
import { debtChange, unknownModel } from '../../operator/messages.ts';
import { lastCommand } from '../copied.ts';
import { creditLines } from '../credit-lines.ts';
import { doneLines } from '../done-lines.ts';
import { boxWidth, noticeLines, noticeRoom } from '../draw/box.ts';
import { edited, NOTHING_TYPED } from '../draw/typed.ts';
import { helpLines } from '../help-lines.ts';
import { shownKeys } from '../lists/keys.ts';
import type { Dialog, Model } from '../model.ts';
import { accountOf } from '../select.ts';
import { submitForm } from './forms.ts';
import { onPaletteKey } from './palette.ts';
import { onPickerKey, pickForField } from './picker.ts';
import { type Effect, moveCursor, type Step, step, withMessage } from './step.ts';

export function onDialogKey(model: Model, dialog: Dialog, key: string): Step {
  if (key === 'escape' && dialog.kind !== 'secret') return leaveDialog(model, dialog);
  if (key === 'ctrl+c' && dialog.kind !== 'secret') return quit(model);
  switch (dialog.kind) {
    case 'form':
      return onFormKey(model, dialog, key);
    case 'confirm':
      return onConfirmKey(model, dialog, key);
    case 'picker':
      return onPickerKey(model, dialog, key);
    case 'secret':
      // A lost key cannot be shown again, so quitting takes a second Ctrl-C.
      if (key === 'ctrl+c')
        return dialog.leaving ? quit(model) : step({ ...model, dialog: { ...dialog, leaving: true } });
      if (key === 'c')
        return step({ ...model, dialog: { ...dialog, copied: true } }, { kind: 'copy', text: dialog.secret });
      return step(key === 'enter' ? selectKey(closeDialog(model), dialog.name) : model);
    case 'notice':
      return onScrollKey(model, dialog, noticeLines(dialog.lines, model.columns).length, key);
    case 'palette':
      return onPaletteKey(model, dialog, key);
    case 'audit':
      return step(model);
    case 'credit_history':
      return onScrollKey(model, dialog, creditLines(dialog, model.columns).length - 1, key);
    case 'done': {
      const command = key === 'y' ? lastCommand(model) : undefined;
      if (command !== undefined)
        return step(withMessage(model, `Copied ${command}`, 'good'), { kind: 'copy', text: command });
      return onScrollKey(model, dialog, doneLines(model).length, key);
    }
    case 'help':
      if (key === '?') return step(closeDialog(model));
      return onScrollKey(model, dialog, helpLines(dialog.view, boxWidth(model.columns)).length, key);
  }
}

/** Scrolls a dialog with this many lines. */
function onScrollKey(model: Model, dialog: Extract<Dialog, { top: number }>, lines: number, key: string): Step {
  if (key === 'enter' || key === 'q') return step(closeDialog(model));
  const room = noticeRoom(model.rows);
  const places = Math.max(1, lines - room + 1);
  const top = moveCursor(Math.min(dialog.top, places - 1), key, places, room);
  return step(top === undefined ? model : { ...model, dialog: { ...dialog, top } });
}

/** Moves the cursor to a new key, since its creator usually continues with it. */
function selectKey(model: Model, name: string): Model {
  const cursor = shownKeys(model).findIndex(({ record }) => record.name === name);
  if (cursor < 0 || cursor === model.lists.keys.cursor) return model;
  const lists = { ...model.lists, keys: { ...model.lists.keys, cursor } };
  return { ...model, lists, keys: { detail: undefined } };
}

function quit(model: Model): Step {
  return step(model, { kind: 'quit' });
}

/** Pastes into the focused field, if any. */
export function onDialogPaste(model: Model, dialog: Dialog, text: string): Step {
  const takesText =
    dialog.kind === 'form' || dialog.kind === 'palette' || (dialog.kind === 'confirm' && dialog.word !== undefined);
  if (!takesText) return step(model);
  return [...text].reduce<Step>(
    (last, character) =>
      last.model.dialog === undefined ? last : onDialogKey(last.model, last.model.dialog, character),
    step(model),
  );
}

/** Leaves a dialog. A picker that a form opened returns to the form. */
function leaveDialog(model: Model, dialog: Dialog): Step {
  const form = dialog.kind === 'picker' && 'form' in dialog.saves ? dialog.saves.form : undefined;
  const left = { ...model, dialog: form };
  return dialog.kind === 'audit' ? step(left, { kind: 'stop_audit' }) : step(left);
}

function closeDialog(model: Model): Model {
  return { ...model, dialog: undefined };
}

function onFormKey(model: Model, form: Extract<Dialog, { kind: 'form' }>, key: string): Step {
  const { fields, cursor } = form;
  const moveTo = (next: number) =>
    step({ ...model, dialog: { ...form, cursor: (next + fields.length) % fields.length } });
  if (key === 'up' || key === 'shift+tab') return moveTo(cursor - 1);
  if (key === 'down' || key === 'tab') return moveTo(cursor + 1);
  if (key === 'enter') {
    const next = submitForm(form, model.stored, model.nowMs);
    return 'fields' in next ? step({ ...model, dialog: next }) : submitted(closeDialog(model), next);
  }
  if (key === 'ctrl+o') return pickForField(model, form);
  const field = fields[cursor];
  const value = field && edited(field.value, key);
  if (field === undefined || value === undefined) return step(model);
  const problem = value.text === field.value.text ? field.problem : undefined;
  return step({ ...model, dialog: { ...form, fields: fields.with(cursor, { ...field, value, problem }) } });
}

/** Submits an action after the same confirmations, notes and refusals as the command. */
function submitted(model: Model, effect: Effect): Step {
  const action = effect.kind === 'act' ? effect.action : undefined;
  if (action?.kind === 'create' || action?.kind === 'create_group') {
    const isKnown = (id: string) => model.stored.models.some((each) => each.id === id);
    const unknown = (action.terms.allowlist ?? []).filter((id) => !isKnown(id)).map(unknownModel);
    return step(unknown.length === 0 ? model : withMessage(model, unknown.join(' · '), 'warn'), effect);
  }
  if (
    (action?.kind === 'set_limits' || action?.kind === 'set_level_limits' || action?.kind === 'set_user_limits') &&
    Object.keys(action.limits).length === 0
  ) {
    return step(withMessage(model, 'No field was changed; the limits stay as they are.', 'warn'));
  }
  if (action?.kind !== 'add_credit') return step(model, effect);
  const change = debtChange(accountOf(model).balanceNanos, action.nanos, usd);
  if (change === undefined) return step(model, effect);
  const title = `Remove ${usd(-action.nanos)} USD?`;
  const text = `This takes the balance ${change}.${model.stored.creditEnforced ? ' Requests are refused while it is below zero.' : ''}`;
  return step({ ...model, dialog: { kind: 'confirm', title, text, action, word: undefined, typed: NOTHING_TYPED } });
}

function onConfirmKey(model: Model, dialog: Extract<Dialog, { kind: 'confirm' }>, key: string): Step {
  const { word, action, undoes } = dialog;
  const act = () => step(closeDialog(model), { kind: 'act', action, ...(undoes !== undefined && { undoes }) });
  if (word === undefined) {
    if (key === 'y' || key === 'Y') return act();
    return step(key === 'n' || key === 'N' ? closeDialog(model) : model);
  }
  if (key === 'enter') {
    if (dialog.typed.text === word) return act();
    return step(withMessage(model, 'The text does not match; nothing was changed.', 'warn'));
  }
  const next = edited(dialog.typed, key);
  return step(next === undefined ? model : { ...model, dialog: { ...dialog, typed: next } });
}
