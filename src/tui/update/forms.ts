/** Forms: what each asks for, and what is made of the answers. The readers are those of the commands. */
import { formatUsd } from '../../core/money.ts';
import {
  orWord,
  type Reader,
  type Reading,
  readAmount,
  readAmountAboveZero,
  readConcurrency,
  readKeyName,
  readNote,
  readRpm,
  readTpm,
  whyNot,
} from '../../operator/input.ts';
import type { OwnLimits } from '../../state/keys.ts';
import type { Dialog, Field, FormPurpose, StoredKey } from '../model.ts';
import type { Effect } from './step.ts';

type Form = Extract<Dialog, { kind: 'form' }>;

/** What is typed where nothing is meant. */
const TIER = 'default';
const NONE = 'none';

/** An empty field stands for a word. */
function orEmpty<T, W extends string>(word: W, reader: Reader<T>): Reader<T | W> {
  const read = orWord(word, reader);
  return (text) => read(text === '' ? word : text);
}

const READERS = {
  name: readKeyName,
  rpm: orEmpty(TIER, readRpm),
  tpm: orEmpty(TIER, readTpm),
  concurrency: orEmpty(TIER, readConcurrency),
  spend_limit: orEmpty(NONE, readAmount),
  amount: readAmountAboveZero,
  note: readNote,
  path: ((text) =>
    text.trim() === ''
      ? { ok: false, expected: 'Expected the name of a file.' }
      : { ok: true, value: text.trim() }) satisfies Reader<string>,
} as const;
type FieldName = keyof typeof READERS;

function field(name: FieldName, label: string, hint: string, value = ''): Field {
  return { name, label, hint, value, fault: undefined };
}

function limitFields(key?: StoredKey): Field[] {
  const number = (value: number | null | undefined) => (value === null || value === undefined ? '' : String(value));
  const spend = key?.record.spendLimitNanos;
  return [
    field('rpm', 'Requests a minute', 'the tier’s', number(key?.record.rpm)),
    field('tpm', 'Tokens a minute', 'the tier’s', number(key?.record.tpm)),
    field('concurrency', 'Requests at once', 'the tier’s', number(key?.record.concurrency)),
    field('spend_limit', 'USD a month', 'no limit', spend === null || spend === undefined ? '' : formatUsd(spend)),
  ];
}

export function createForm(): Form {
  const fields = [field('name', 'Name', 'such as my-app'), ...limitFields()];
  return { kind: 'form', title: 'Make a key', purpose: { kind: 'create' }, fields, cursor: 0 };
}

export function limitsForm(key: StoredKey): Form {
  const title = `Limits of ${key.record.name}`;
  return {
    kind: 'form',
    title,
    purpose: { kind: 'limits', keyId: key.record.id },
    fields: limitFields(key),
    cursor: 0,
  };
}

export function creditForm(): Form {
  const fields = [field('amount', 'USD', 'such as 25 or 0.50'), field('note', 'Note', 'what it is for')];
  return { kind: 'form', title: 'Add credit', purpose: { kind: 'credit' }, fields, cursor: 0 };
}

export function exportForm(name: string): Form {
  const fields = [field('path', 'File', 'usage.csv', name)];
  return { kind: 'form', title: 'Write these figures as CSV', purpose: { kind: 'export' }, fields, cursor: 0 };
}

/** The form with what is wrong in it, or what it asks for. */
export function submitted(form: Form, keys: readonly StoredKey[]): Form | Effect {
  const fields = form.fields.map((each) => {
    const reading: Reading<unknown> = READERS[each.name as FieldName](each.value);
    if (!reading.ok) return { ...each, fault: reading.expected };
    // Told while the form is there to be corrected. The state file has the last word.
    const isTaken = each.name === 'name' && keys.some(({ record }) => record.name === each.value);
    return { ...each, fault: isTaken ? whyNot({ kind: 'name_taken' }, each.value) : undefined };
  });
  const cursor = fields.findIndex(({ fault }) => fault !== undefined);
  if (cursor >= 0) return { ...form, fields, cursor };
  return effectOf(form.purpose, form.fields);
}

function effectOf(purpose: FormPurpose, fields: readonly Field[]): Effect {
  switch (purpose.kind) {
    case 'create':
      return { kind: 'act', action: { kind: 'create', name: read(fields, 'name'), limits: limitsOf(fields) } };
    case 'limits':
      return { kind: 'act', action: { kind: 'set_limits', keyId: purpose.keyId, limits: limitsOf(fields) } };
    case 'credit':
      return {
        kind: 'act',
        action: { kind: 'add_credit', nanos: read(fields, 'amount'), note: read(fields, 'note') },
      };
    case 'export':
      return { kind: 'export', path: read(fields, 'path') };
  }
}

type ValueOf<N extends FieldName> = Extract<ReturnType<(typeof READERS)[N]>, { ok: true }>['value'];

/** What a field says, once all of them can be read. */
function read<N extends FieldName>(fields: readonly Field[], name: N): ValueOf<N> {
  const reading = READERS[name](fields.find((each) => each.name === name)?.value ?? '');
  if (!reading.ok) throw new Error(`the field ${name} was not checked`);
  return reading.value as ValueOf<N>;
}

function limitsOf(fields: readonly Field[]): OwnLimits {
  const own = <T>(value: T | string): T | null => (typeof value === 'string' ? null : (value as T));
  return {
    rpm: own<number>(read(fields, 'rpm')),
    tpm: own<number>(read(fields, 'tpm')),
    concurrency: own<number>(read(fields, 'concurrency')),
    spendLimitNanos: own<bigint>(read(fields, 'spend_limit')),
  };
}
