/** The picker for the models of a key or a group, opened from its row or from a form. Pure. */
import { readTerm } from '../../operator/terms.ts';
import { typed } from '../draw/typed.ts';
import type { Dialog, FormDialog, Model } from '../model.ts';
import { moveCursor, type Step, step, withMessage } from './step.ts';

type PickerDialog = Extract<Dialog, { kind: 'picker' }>;

/** Rows that PgUp and PgDn move in a list of models. */
const PICKER_PAGE = 10;
const FIELD = 'allowlist';
const GROUP_FIELD = 'outer';

/** Returns the models in the config, and those that only the allowlist contains. */
export function pickerOptions({ stored }: Model, allowlist: readonly string[] | null): string[] {
  return [...new Set([...stored.models.map(({ id }) => id), ...(allowlist ?? [])])];
}

/** Opens the picker for the focused group field, otherwise for the form's model field. */
export function pickForField(model: Model, form: FormDialog): Step {
  return form.fields[form.cursor]?.name === GROUP_FIELD ? pickGroup(model, form) : pickModels(model, form);
}

function pickGroup(model: Model, form: FormDialog): Step {
  const options = model.stored.groups.map(({ record }) => `@${record.name}`).toSorted();
  if (options.length === 0) return step(withMessage(model, 'There are no groups yet.', 'warn'));
  const typedName = form.fields[form.cursor]?.value.text.trim().replace(/^@/, '') ?? '';
  const chosen = typedName === '' ? [] : [`@${typedName}`];
  const cursor = Math.max(0, options.indexOf(chosen[0] ?? ''));
  const saves = { kind: 'group_field', form } as const;
  return step({ ...model, dialog: { kind: 'picker', saves, name: '', options, chosen, cursor } });
}

/** Starts with the models typed in the field. */
function pickModels(model: Model, form: FormDialog): Step {
  const at = form.fields.findIndex(({ name }) => name === FIELD);
  const reading = readTerm(FIELD, form.fields[at]?.value.text ?? '', model.nowMs);
  if (at < 0) return step(model);
  const chosen = reading.ok ? reading.value : null;
  const saves = { kind: 'field', form: { ...form, cursor: at } } as const;
  const options = pickerOptions(model, chosen);
  return step({ ...model, dialog: { kind: 'picker', saves, name: 'the new key', options, chosen, cursor: 0 } });
}

export function onPickerKey(model: Model, picker: PickerDialog, key: string): Step {
  const { options, chosen, cursor } = picker;
  const next = moveCursor(cursor, key, options.length, PICKER_PAGE);
  if (next !== undefined) return step({ ...model, dialog: { ...picker, cursor: next } });
  if (picker.saves.kind === 'group_field') return onGroupKey(model, picker, picker.saves.form, key);
  switch (key) {
    case 'a':
      return step({ ...model, dialog: { ...picker, chosen: null } });
    case 'x':
      return step({ ...model, dialog: { ...picker, chosen: [] } });
    case ' ':
      return step({ ...model, dialog: { ...picker, chosen: toggle(options, chosen, options[cursor]) } });
    case 'enter':
      return save(model, picker);
    default:
      return step(model);
  }
}

/** Enter chooses the group under the cursor; x chooses no group. */
function onGroupKey(model: Model, { options, cursor }: PickerDialog, form: FormDialog, key: string): Step {
  if (key !== 'enter' && key !== ' ' && key !== 'x') return step(model);
  return step({ ...model, dialog: withValue(form, GROUP_FIELD, key === 'x' ? '' : (options[cursor] ?? '')) });
}

function withValue(form: FormDialog, name: string, text: string): FormDialog {
  const value = typed(text);
  const fields = form.fields.map((field) => (field.name === name ? { ...field, value, problem: undefined } : field));
  return { ...form, fields };
}

/** Adds or removes a model. Removing one from "all models" leaves all others. */
function toggle(
  options: readonly string[],
  chosen: readonly string[] | null,
  option: string | undefined,
): readonly string[] {
  const list = chosen ?? options;
  if (option === undefined) return list;
  return list.includes(option) ? list.filter((each) => each !== option) : [...list, option];
}

function save(model: Model, { saves, chosen }: PickerDialog): Step {
  if (saves.kind === 'key') {
    const action = { kind: 'set_allowlist', keyId: saves.keyId, models: chosen } as const;
    return step({ ...model, dialog: undefined }, { kind: 'act', action });
  }
  if (saves.kind === 'group') {
    const action = { kind: 'set_group_allowlist', level: saves.level, models: chosen } as const;
    return step({ ...model, dialog: undefined }, { kind: 'act', action });
  }
  // An empty field means every model.
  if (chosen?.length === 0) return step(withMessage(model, 'Choose at least one model, or all.', 'warn'));
  return step({ ...model, dialog: withValue(saves.form, FIELD, (chosen ?? []).join(' ')) });
}
