/** Key presses and pastes while a dialog is open. */
import { noticeLines, noticeRoom } from '../draw/box.ts';
import { edited, typed } from '../draw/typed.ts';
import { shownKeys } from '../lists/keys.ts';
import type { Dialog, Model } from '../model.ts';
import { submitForm } from './forms.ts';
import { moveCursor, type Step, step, withMessage } from './step.ts';

/** How far PgUp and PgDn move in a list of models. */
const PICKER_PAGE = 10;

export function onDialogKey(model: Model, dialog: Dialog, key: string): Step {
  if (key === 'escape' && dialog.kind !== 'secret') return step(closeDialog(model));
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
      return onNoticeKey(model, dialog, key);
    case 'help':
      return step(closeDialog(model));
  }
}

function onNoticeKey(model: Model, notice: Extract<Dialog, { kind: 'notice' }>, key: string): Step {
  if (key === 'enter' || key === 'q') return step(closeDialog(model));
  const room = noticeRoom(model.rows);
  const places = Math.max(1, noticeLines(notice.lines, model.columns).length - room + 1);
  const top = moveCursor(Math.min(notice.top, places - 1), key, places, room);
  return step(top === undefined ? model : { ...model, dialog: { ...notice, top } });
}

/** Moves the cursor to a key, since whoever creates one usually goes on with it. */
function selectKey(model: Model, name: string): Model {
  const cursor = shownKeys(model).findIndex(({ record }) => record.name === name);
  if (cursor < 0 || cursor === model.lists.keys.cursor) return model;
  const lists = { ...model.lists, keys: { ...model.lists.keys, cursor } };
  return { ...model, lists, keys: { detail: undefined } };
}

function quit(model: Model): Step {
  return step(model, { kind: 'quit' });
}

/** Pastes into the field that has the cursor, if there is one. */
export function onDialogPaste(model: Model, dialog: Dialog, text: string): Step {
  const takesText = dialog.kind === 'form' || (dialog.kind === 'confirm' && dialog.word !== undefined);
  if (!takesText) return step(model);
  return [...text].reduce<Step>(
    (last, character) =>
      last.model.dialog === undefined ? last : onDialogKey(last.model, last.model.dialog, character),
    step(model),
  );
}

export function closeDialog(model: Model): Model {
  return { ...model, dialog: undefined };
}

/** A text after a key press; undefined if the key does not edit text. */
export function editText(text: string, key: string): string | undefined {
  return edited(typed(text), key)?.text;
}

function onFormKey(model: Model, form: Extract<Dialog, { kind: 'form' }>, key: string): Step {
  const { fields, cursor } = form;
  const moveTo = (next: number) =>
    step({ ...model, dialog: { ...form, cursor: (next + fields.length) % fields.length } });
  if (key === 'up' || key === 'shift+tab') return moveTo(cursor - 1);
  if (key === 'down' || key === 'tab') return moveTo(cursor + 1);
  if (key === 'enter') {
    const next = submitForm(form, model.stored.keys);
    if ('fields' in next) return step({ ...model, dialog: next });
    return step(closeDialog(model), next);
  }
  const field = fields[cursor];
  const value = field && edited(field.value, key);
  if (field === undefined || value === undefined) return step(model);
  const problem = value.text === field.value.text ? field.problem : undefined;
  return step({ ...model, dialog: { ...form, fields: fields.with(cursor, { ...field, value, problem }) } });
}

function onConfirmKey(model: Model, dialog: Extract<Dialog, { kind: 'confirm' }>, key: string): Step {
  const { word, action } = dialog;
  if (word === undefined) {
    if (key === 'y' || key === 'Y') return step(closeDialog(model), { kind: 'act', action });
    return step(key === 'n' || key === 'N' ? closeDialog(model) : model);
  }
  if (key === 'enter') {
    if (dialog.typed.text === word) return step(closeDialog(model), { kind: 'act', action });
    return step(withMessage(model, 'The text does not match; nothing was changed.', 'warn'));
  }
  const next = edited(dialog.typed, key);
  return step(next === undefined ? model : { ...model, dialog: { ...dialog, typed: next } });
}

function onPickerKey(model: Model, picker: Extract<Dialog, { kind: 'picker' }>, key: string): Step {
  const { options, chosen, cursor, keyId } = picker;
  const next = moveCursor(cursor, key, options.length, PICKER_PAGE);
  if (next !== undefined) return step({ ...model, dialog: { ...picker, cursor: next } });
  switch (key) {
    case 'a':
      return step({ ...model, dialog: { ...picker, chosen: null } });
    case 'x':
      return step({ ...model, dialog: { ...picker, chosen: [] } });
    case ' ':
      return step({ ...model, dialog: { ...picker, chosen: toggle(options, chosen, options[cursor]) } });
    case 'enter':
      return step(closeDialog(model), { kind: 'act', action: { kind: 'set_allowlist', keyId, models: chosen } });
    default:
      return step(model);
  }
}

/** Where every model is allowed, removing one leaves all the others. */
function toggle(
  options: readonly string[],
  chosen: readonly string[] | null,
  option: string | undefined,
): readonly string[] {
  const list = chosen ?? options;
  if (option === undefined) return list;
  return list.includes(option) ? list.filter((each) => each !== option) : [...list, option];
}
