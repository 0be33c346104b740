/** Forms: their fields, and the actions they submit. Values are read as the commands read them. */
import { type Reading, readAmountAboveZero, readKeyName, readNote, readPath } from '../../operator/input.ts';
import { explainKeyChange } from '../../operator/messages.ts';
import { LIMIT_NAMES, readTerm, TERM_NAMES, TERMS, type TermName, termsOf, termText } from '../../operator/terms.ts';
import { type KeyTerms, NO_TERMS } from '../../state/keys.ts';
import { typed } from '../draw/typed.ts';
import type { Field, FormDialog, FormPurpose, StoredKey } from '../model.ts';
import type { Effect } from './step.ts';

/** Of what is no term of a key. */
const READERS = { name: readKeyName, amount: readAmountAboveZero, note: readNote, path: readPath } as const;
type ReaderName = keyof typeof READERS;

function field(name: ReaderName | TermName, label: string, hint: string, value = ''): Field {
  return { name, label, hint, value: typed(value), problem: undefined };
}

function termField<Name extends TermName>(name: Name, terms: Pick<KeyTerms, Name>): Field {
  const { label, hint } = TERMS[name];
  return field(name, label, name === 'allowlist' ? `${hint} (Ctrl-O: choose)` : hint, termText(name, terms));
}

export function createForm(): FormDialog {
  const fields = [field('name', 'Name', 'for example my-app'), ...TERM_NAMES.map((name) => termField(name, NO_TERMS))];
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

/** `sign`: whether it is added or removed. */
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

/** The effect of a valid form, or the form with what is wrong in it. */
export function submitForm(form: FormDialog, keys: readonly StoredKey[], nowMs: number): FormDialog | Effect {
  const readings = form.fields.map((each) => (isTouched(each, form.purpose) ? readingOf(each, nowMs) : undefined));
  const fields = form.fields.map((each, index) => {
    const reading = readings[index];
    if (reading?.ok === false) return { ...each, problem: reading.expected };
    // Reported while the name can still be corrected. The state file decides in the end.
    const isTaken = each.name === 'name' && keys.some(({ record }) => record.name === each.value.text);
    return { ...each, problem: isTaken ? explainKeyChange({ kind: 'name_taken' }, each.value.text) : undefined };
  });
  const cursor = fields.findIndex(({ problem }) => problem !== undefined);
  if (cursor >= 0) return { ...form, fields, cursor };
  const values = form.fields.flatMap(({ name }, index) => (readings[index]?.ok ? [[name, readings[index].value]] : []));
  return effectOf(form.purpose, Object.fromEntries(values) as Values);
}

/** What nobody has touched of limits stays as it is by now: others may have set it since, or its time has come. */
function isTouched({ name, value: { text } }: Field, purpose: FormPurpose): boolean {
  return purpose.kind !== 'limits' || !isTerm(name) || text !== termText(name, purpose.before);
}

function readingOf({ name, value: { text } }: Field, nowMs: number): Reading<unknown> {
  return isTerm(name) ? readTerm(name, text, nowMs) : READERS[name as ReaderName](text);
}

function isTerm(name: string): name is TermName {
  return name in TERMS;
}

/** Of the fields that the form has and that were touched, once all of them are valid. */
type Values = KeyTerms & {
  readonly [Name in ReaderName]: Extract<ReturnType<(typeof READERS)[Name]>, { ok: true }>['value'];
};

function effectOf(purpose: FormPurpose, values: Values): Effect {
  const { name, amount, note, path } = values;
  switch (purpose.kind) {
    case 'create':
      return { kind: 'act', action: { kind: 'create', name, terms: termsOf(values) } };
    case 'limits':
      return { kind: 'act', action: { kind: 'set_limits', keyId: purpose.keyId, limits: values } };
    case 'credit':
      return { kind: 'act', action: { kind: 'add_credit', nanos: purpose.sign * amount, note } };
    case 'export':
      return { kind: 'export', path };
  }
}
