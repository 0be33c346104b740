/** Keys and pastes while a dialog is open. */
import type { Dialog, Model } from '../model.ts';
import { shownKeys } from '../select.ts';
import { submitted } from './forms.ts';
import { moved, type Step, saying, step } from './step.ts';

/** A text that is typed or pasted at once is bounded, as are names and notes. */
const MAX_TYPED_CHARACTERS = 500;
/** How far PgUp and PgDn go in a list of models. */
const PICKER_PAGE = 10;

export function inDialog(model: Model, dialog: Dialog, key: string): Step {
  if (key === 'escape' && dialog.kind !== 'secret') return step(closed(model));
  if (key === 'ctrl+c' && dialog.kind !== 'secret') return quit(model);
  switch (dialog.kind) {
    case 'form':
      return inForm(model, dialog, key);
    case 'confirm':
      return inConfirmation(model, dialog, key);
    case 'picker':
      return inPicker(model, dialog, key);
    case 'secret':
      // A key that is lost cannot be shown again.
      if (key === 'ctrl+c')
        return dialog.leaving ? quit(model) : step({ ...model, dialog: { ...dialog, leaving: true } });
      if (key === 'c')
        return step({ ...model, dialog: { ...dialog, copied: true } }, { kind: 'copy', text: dialog.secret });
      return step(key === 'enter' ? atKey(closed(model), dialog.name) : model);
    case 'help':
      return step(closed(model));
  }
}

/** With the cursor on a key: whoever has made one goes on with it. */
function atKey(model: Model, name: string): Model {
  const cursor = shownKeys(model).findIndex(({ record }) => record.name === name);
  if (cursor < 0 || cursor === model.keys.cursor) return model;
  return { ...model, keys: { ...model.keys, cursor, detail: undefined } };
}

function quit(model: Model): Step {
  return step(model, { kind: 'quit' });
}

/** Goes into the field that is typed into, if there is one. */
export function pasted(model: Model, dialog: Dialog, text: string): Step {
  const takesText = dialog.kind === 'form' || (dialog.kind === 'confirm' && dialog.word !== undefined);
  if (!takesText) return step(model);
  return [...text].reduce<Step>(
    (last, character) => (last.model.dialog === undefined ? last : inDialog(last.model, last.model.dialog, character)),
    step(model),
  );
}

export function closed(model: Model): Model {
  return { ...model, dialog: undefined };
}

/** A text with what a key makes of it; undefined where the key is none for texts. */
export function typed(text: string, key: string): string | undefined {
  if (key === 'backspace') return [...text].slice(0, -1).join('');
  if (key === 'ctrl+u') return '';
  return [...key].length === 1 && text.length < MAX_TYPED_CHARACTERS ? text + key : undefined;
}

function inForm(model: Model, form: Extract<Dialog, { kind: 'form' }>, key: string): Step {
  const { fields, cursor } = form;
  const at = (next: number) => step({ ...model, dialog: { ...form, cursor: (next + fields.length) % fields.length } });
  if (key === 'up' || key === 'shift+tab') return at(cursor - 1);
  if (key === 'down' || key === 'tab') return at(cursor + 1);
  if (key === 'enter') {
    const next = submitted(form, model.stored.keys);
    if ('fields' in next) return step({ ...model, dialog: next });
    return step(closed(model), next);
  }
  const changed = fields.map((field, index) => {
    const value = index === cursor ? typed(field.value, key) : undefined;
    return value === undefined ? field : { ...field, value, fault: undefined };
  });
  return step({ ...model, dialog: { ...form, fields: changed } });
}

function inConfirmation(model: Model, dialog: Extract<Dialog, { kind: 'confirm' }>, key: string): Step {
  const { word, action } = dialog;
  if (word === undefined) {
    if (key === 'y' || key === 'Y') return step(closed(model), { kind: 'act', action });
    return step(key === 'n' || key === 'N' ? closed(model) : model);
  }
  if (key === 'enter') {
    if (dialog.typed === word) return step(closed(model), { kind: 'act', action });
    return step(saying(model, 'That is something else; nothing was done.', 'warn'));
  }
  const next = typed(dialog.typed, key);
  return step(next === undefined ? model : { ...model, dialog: { ...dialog, typed: next } });
}

function inPicker(model: Model, picker: Extract<Dialog, { kind: 'picker' }>, key: string): Step {
  const { options, chosen, cursor, keyId } = picker;
  const next = moved(cursor, key, options.length, PICKER_PAGE);
  if (next !== undefined) return step({ ...model, dialog: { ...picker, cursor: next } });
  switch (key) {
    case 'a':
      return step({ ...model, dialog: { ...picker, chosen: null } });
    case 'x':
      return step({ ...model, dialog: { ...picker, chosen: [] } });
    case ' ':
      return step({ ...model, dialog: { ...picker, chosen: toggled(options, chosen, options[cursor]) } });
    case 'enter':
      return step(closed(model), { kind: 'act', action: { kind: 'set_allowlist', keyId, models: chosen } });
    default:
      return step(model);
  }
}

/** Taking one from every model leaves the others. */
function toggled(
  options: readonly string[],
  chosen: readonly string[] | null,
  option: string | undefined,
): readonly string[] {
  const list = chosen ?? options;
  if (option === undefined) return list;
  return list.includes(option) ? list.filter((each) => each !== option) : [...list, option];
}
