/** Forms: their fields, and the actions they submit. Values are read as the commands read them. */
import { formatUsd } from '../../core/money.ts';
import {
  keywordOr,
  type Reader,
  type Reading,
  readAmount,
  readAmountAboveZero,
  readConcurrency,
  readKeyName,
  readModelIds,
  readNote,
  readPath,
  readRpm,
  readTpm,
} from '../../operator/input.ts';
import { explainKeyChange } from '../../operator/messages.ts';
import type { OwnLimits } from '../../state/keys.ts';
import { typed } from '../draw/typed.ts';
import type { Field, FormDialog, FormPurpose, StoredKey } from '../model.ts';
import type { Effect } from './step.ts';

/** As in the options of the commands. */
const TIER = 'default';
const NONE = 'none';

/** An empty field means the keyword. */
function emptyOr<T, K extends string>(keyword: K, reader: Reader<T>): Reader<T | K> {
  const read = keywordOr(keyword, reader);
  return (text) => read(text === '' ? keyword : text);
}

const READERS = {
  name: readKeyName,
  rpm: emptyOr(TIER, readRpm),
  tpm: emptyOr(TIER, readTpm),
  concurrency: emptyOr(TIER, readConcurrency),
  spend_limit: emptyOr(NONE, readAmount),
  models: readModelIds,
  amount: readAmountAboveZero,
  note: readNote,
  path: readPath,
} as const;
type FieldName = keyof typeof READERS;

function field(name: FieldName, label: string, hint: string, value = ''): Field {
  return { name, label, hint, value: typed(value), problem: undefined };
}

function limitFields(key?: StoredKey): Field[] {
  const number = (value: number | null | undefined) => (value === null || value === undefined ? '' : String(value));
  const spend = key?.record.spendLimitNanos;
  return [
    field('rpm', 'Requests per minute', 'tier default', number(key?.record.rpm)),
    field('tpm', 'Tokens per minute', 'tier default', number(key?.record.tpm)),
    field('concurrency', 'Concurrent requests', 'tier default', number(key?.record.concurrency)),
    field('spend_limit', 'USD per month', 'no limit', spend === null || spend === undefined ? '' : formatUsd(spend)),
  ];
}

export function createForm(): FormDialog {
  const fields = [
    field('name', 'Name', 'for example my-app'),
    ...limitFields(),
    field('models', 'Models', 'every model (Ctrl-O: choose)'),
  ];
  return { kind: 'form', title: 'Create a key', purpose: { kind: 'create' }, fields, cursor: 0 };
}

export function limitsForm(key: StoredKey): FormDialog {
  const title = `Limits of ${key.record.name}`;
  return {
    kind: 'form',
    title,
    purpose: { kind: 'limits', keyId: key.record.id },
    fields: limitFields(key),
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
export function submitForm(form: FormDialog, keys: readonly StoredKey[]): FormDialog | Effect {
  const fields = form.fields.map((each) => {
    const reading: Reading<unknown> = READERS[each.name as FieldName](each.value.text);
    if (!reading.ok) return { ...each, problem: reading.expected };
    // Reported while the name can still be corrected. The state file decides in the end.
    const isTaken = each.name === 'name' && keys.some(({ record }) => record.name === each.value.text);
    return { ...each, problem: isTaken ? explainKeyChange({ kind: 'name_taken' }, each.value.text) : undefined };
  });
  const cursor = fields.findIndex(({ problem }) => problem !== undefined);
  if (cursor >= 0) return { ...form, fields, cursor };
  return effectOf(form.purpose, form.fields);
}

function effectOf(purpose: FormPurpose, fields: readonly Field[]): Effect {
  switch (purpose.kind) {
    case 'create':
      return {
        kind: 'act',
        action: {
          kind: 'create',
          name: read(fields, 'name'),
          limits: limitsOf(fields),
          models: read(fields, 'models'),
        },
      };
    case 'limits':
      return { kind: 'act', action: { kind: 'set_limits', keyId: purpose.keyId, limits: limitsOf(fields) } };
    case 'credit':
      return {
        kind: 'act',
        action: { kind: 'add_credit', nanos: purpose.sign * read(fields, 'amount'), note: read(fields, 'note') },
      };
    case 'export':
      return { kind: 'export', path: read(fields, 'path') };
  }
}

type ValueOf<N extends FieldName> = Extract<ReturnType<(typeof READERS)[N]>, { ok: true }>['value'];

/** The value of a field, once all of them are valid. */
function read<N extends FieldName>(fields: readonly Field[], name: N): ValueOf<N> {
  const reading = READERS[name](fields.find((each) => each.name === name)?.value.text ?? '');
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
