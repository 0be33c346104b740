/** Forms: their fields, and the actions they submit. Values are parsed as in the commands. */
import { type Reading, readAmountAboveZero, readKeyName, readNote, readPath } from '../../operator/input.ts';
import { explainGroupChange, explainKeyChange } from '../../operator/messages.ts';
import {
  GROUP_TERMS,
  LEVEL_NAMES,
  LEVEL_TERMS,
  LIMIT_NAMES,
  readTerm,
  TERM_NAMES,
  TERMS,
  type Term,
  type TermName,
  termsOf,
  termText,
} from '../../operator/terms.ts';
import { type KeyTerms, type LevelTerms, NO_TERMS, type UserLimits } from '../../state/keys.ts';
import type { LevelRef, OwnerRef } from '../actions.ts';
import { typed } from '../draw/typed.ts';
import type { Field, FormDialog, FormPurpose, Stored, StoredKey } from '../model.ts';
import type { Effect } from './step.ts';

/** Readers of all fields except limits and terms of a key. */
const READERS = {
  name: readKeyName,
  outer: readGroup,
  amount: readAmountAboveZero,
  note: readNote,
  path: readPath,
  required: readYes,
} as const;
type ReaderName = keyof typeof READERS;

function field(name: ReaderName | TermName, label: string, hint: string, value = ''): Field {
  return { name, label, hint, value: typed(value), problem: undefined };
}

/** Reads a group's name, with or without its sign; empty for no group. */
function readGroup(text: string): Reading<string> {
  return { ok: true, value: text.trim().replace(/^@/, '') };
}

function readYes(text: string): Reading<boolean> {
  const word = text.trim().toLowerCase();
  if (word !== '' && word !== 'no' && word !== 'yes') return { ok: false, expected: 'Expected yes or no.' };
  return { ok: true, value: word === 'yes' };
}

function termField<Name extends TermName>(
  name: Name,
  terms: Pick<KeyTerms, Name>,
  { label, hint }: Pick<Term<unknown>, 'label' | 'hint'> = TERMS[name],
): Field {
  return field(name, label, name === 'allowlist' ? `${hint} (Ctrl-O: choose)` : hint, termText(name, terms));
}

/** `outer`: the default group's name. */
export function createForm(outer = ''): FormDialog {
  const fields = [
    field('name', 'Name', 'for example my-app'),
    ...TERM_NAMES.filter((name) => name !== 'allowlist').map((name) => termField(name, NO_TERMS)),
    field('outer', 'In the group', 'none (Ctrl-O: choose)', outer),
    termField('allowlist', NO_TERMS),
  ];
  return { kind: 'form', title: 'Create a key', purpose: { kind: 'create' }, fields, cursor: 0 };
}

export function limitsForm({ record }: StoredKey): FormDialog {
  return {
    kind: 'form',
    title: `Limits of ${record.name}`,
    purpose: { kind: 'limits', keyId: record.id, before: termsOf(record) },
    fields: LIMIT_NAMES.map((name) => termField(name, record)),
    cursor: 0,
  };
}

/** `outer`: the default outer group's name. */
export function createGroupForm(outer: string): FormDialog {
  const names = Object.keys(GROUP_TERMS) as (keyof typeof GROUP_TERMS)[];
  const fields = [
    field('name', 'Name', 'for example research'),
    field('outer', 'In the group', 'none (Ctrl-O: choose)', outer),
    ...names.map((name) => termField(name, NO_TERMS, GROUP_TERMS[name])),
  ];
  return { kind: 'form', title: 'Create a group', purpose: { kind: 'create_group' }, fields, cursor: 0 };
}

/** The limits of a group, or an end user's own limits, which override those of all end users. */
export function levelForm(name: string, level: LevelRef, before: LevelTerms): FormDialog {
  const hintOf = (term: Term<unknown>) => (level.kind === 'user' ? { ...term, hint: 'as all end users' } : term);
  const terms = { ...NO_TERMS, ...before };
  return {
    kind: 'form',
    title: `Limits of ${name}`,
    purpose: { kind: 'level_limits', level, before },
    fields: LEVEL_NAMES.map((each) => termField(each, terms, hintOf(LEVEL_TERMS[each] as Term<unknown>))),
    cursor: 0,
  };
}

/** The limits of each end user of a key or a group. */
export function usersForm(name: string, owner: OwnerRef, before: UserLimits): FormDialog {
  const terms = { ...NO_TERMS, ...before };
  return {
    kind: 'form',
    title: `Limits of each end user of ${name}`,
    purpose: { kind: 'user_limits', owner, before },
    fields: [
      ...LEVEL_NAMES.map((each) => termField(each, terms, LEVEL_TERMS[each] as Term<unknown>)),
      field('required', 'Must be named', 'no; yes refuses requests without', yesText(before.required)),
    ],
    cursor: 0,
  };
}

function yesText(is: boolean): string {
  return is ? 'yes' : '';
}

/** `outer`: the current group's name; empty without one. */
export function moveForm(name: string, owner: OwnerRef, outer: string): FormDialog {
  const fields = [field('outer', 'To the group', 'none (Ctrl-O: choose)', outer)];
  return { kind: 'form', title: `Move ${name}`, purpose: { kind: 'move', owner }, fields, cursor: 0 };
}

/** `sign`: 1 adds credit, -1 removes it. */
export function creditForm(sign: 1n | -1n): FormDialog {
  const fields = [
    field('amount', 'USD', 'for example 25 or 0.50'),
    field('note', 'Note', 'optional, shown in the history'),
  ];
  return {
    kind: 'form',
    title: sign > 0n ? 'Add credit' : 'Remove credit',
    purpose: { kind: 'credit', sign },
    fields,
    cursor: 0,
  };
}

export function exportForm(name: string): FormDialog {
  const fields = [field('path', 'File', 'usage.csv', name)];
  return { kind: 'form', title: 'Export usage as CSV', purpose: { kind: 'export' }, fields, cursor: 0 };
}

/** Returns the effect of a valid form, or the form with its errors. */
export function submitForm(
  form: FormDialog,
  stored: Pick<Stored, 'keys' | 'groups'>,
  nowMs: number,
): FormDialog | Effect {
  const { purpose } = form;
  const readings = form.fields.map((each) => (isTouched(each, purpose) ? readingOf(each, purpose, nowMs) : undefined));
  const fields = form.fields.map((each, index) => {
    const reading = readings[index];
    if (reading?.ok === false) return { ...each, problem: reading.expected };
    // A taken name is reported while it can still be corrected. The store checks it again.
    return { ...each, problem: problemOf(each, purpose, stored) };
  });
  const cursor = fields.findIndex(({ problem }) => problem !== undefined);
  if (cursor >= 0) return { ...form, fields, cursor };
  const values = form.fields.flatMap(({ name }, index) => (readings[index]?.ok ? [[name, readings[index].value]] : []));
  return effectOf(purpose, Object.fromEntries(values) as Values, stored);
}

/** Returns a conflict with the state. */
function problemOf(
  { name, value: { text } }: Field,
  { kind }: FormPurpose,
  { keys, groups }: Pick<Stored, 'keys' | 'groups'>,
): string | undefined {
  const isNamed = (wanted: string) => groups.some(({ record }) => record.name === wanted);
  if (name === 'outer') {
    const outer = text.trim().replace(/^@/, '');
    return outer === '' || isNamed(outer) ? undefined : explainGroupChange({ kind: 'no_such_group' }, outer);
  }
  if (name !== 'name') return undefined;
  if (kind === 'create_group') return isNamed(text) ? explainGroupChange({ kind: 'name_taken' }, text) : undefined;
  const isTaken = keys.some(({ record }) => record.name === text);
  return isTaken ? explainKeyChange({ kind: 'name_taken' }, text) : undefined;
}

/** Whether the user changed a field. Untouched limits are not submitted, since another user may have changed them. */
function isTouched({ name, value: { text } }: Field, purpose: FormPurpose): boolean {
  if (purpose.kind === 'user_limits' && name === 'required') return text !== yesText(purpose.before.required);
  if (!('before' in purpose) || !isTerm(name)) return true;
  return text !== termText(name, { ...NO_TERMS, ...purpose.before });
}

function readingOf({ name, value: { text } }: Field, { kind }: FormPurpose, nowMs: number): Reading<unknown> {
  const of = kind === 'limits' || kind === 'create' ? 'key' : 'level';
  return isTerm(name) ? readTerm(name, text, nowMs, of) : READERS[name as ReaderName](text);
}

function isTerm(name: string): name is TermName {
  return name in TERMS;
}

/** The values of the touched fields, once all of them are valid. */
type Values = KeyTerms & {
  readonly [Name in ReaderName]: Extract<ReturnType<(typeof READERS)[Name]>, { ok: true }>['value'];
};

function effectOf(purpose: FormPurpose, values: Values, { groups }: Pick<Stored, 'groups'>): Effect {
  const { name, outer, amount, note, path } = values;
  const around = groups.find(({ record }) => record.name === outer)?.record;
  switch (purpose.kind) {
    case 'create':
      return {
        kind: 'act',
        action: { kind: 'create', name, terms: termsOf(values), ...(around !== undefined && { outer: around }) },
      };
    case 'limits':
      return { kind: 'act', action: { kind: 'set_limits', keyId: purpose.keyId, limits: values } };
    case 'create_group': {
      const { expiresAtMs: _, ...terms } = termsOf(values);
      return { kind: 'act', action: { kind: 'create_group', name, terms, outer: around } };
    }
    case 'level_limits':
      return { kind: 'act', action: { kind: 'set_level_limits', level: purpose.level, limits: values } };
    case 'user_limits':
      return { kind: 'act', action: { kind: 'set_user_limits', ...purpose.owner, limits: values } };
    case 'move':
      return { kind: 'act', action: { kind: 'move', ...purpose.owner, outer: around } };
    case 'credit':
      return { kind: 'act', action: { kind: 'add_credit', nanos: purpose.sign * amount, note } };
    case 'export':
      return { kind: 'export', path };
  }
}
