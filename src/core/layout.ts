/** Lays records out flat, as they are sent between threads and stored: their fields are declared once, in one order. Pure. */

/** What a field holds: `nanos` are bigints. The unit of another number is the end of its name. */
export type FieldType = 'text' | 'number' | 'nanos' | 'flag';

/** A value of a flat record; null where there is none. */
export type Value = string | number | bigint | boolean | null;

/** A field that is stored under another name than its own, or in another form. */
interface Field {
  readonly type: FieldType;
  readonly column: string;
  /** The value to store of what the record has there, and back. */
  readonly flat?: (part: never) => Value;
  readonly full?: (value: never) => unknown;
}

/** The fields of a record, and those of its parts. A part may be missing. */
type Fields<T> = {
  readonly [Name in keyof T]-?:
    | FieldType
    | Field
    | (NonNullable<T[Name]> extends object ? Fields<NonNullable<T[Name]>> : never);
};

export interface Column {
  /** As in the name of its field: `cost_nanos` of `costNanos`. */
  readonly name: string;
  readonly type: FieldType;
}

/** A field or a part of a record, and the columns that it takes: the first of them, and the one after the last. */
interface Step {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly field: Field | undefined;
  readonly part: readonly Step[];
}

type Declared = { readonly [name: string]: FieldType | Field | Declared };

export class Layout<T> {
  /** In the order of the values. */
  readonly columns: readonly Column[];
  readonly #steps: readonly Step[];

  constructor(fields: Fields<T>) {
    this.#steps = stepsOf(fields as Declared, 0);
    this.columns = fieldsIn(this.#steps).map(({ column, type }) => ({ name: column, type }));
  }

  /** The values of a record, in the order of the columns. */
  values(record: T): Value[] {
    const values: Value[] = [];
    putValues(this.#steps, record as RecordLike, values);
    return values;
  }

  /** The record with these values. A null value is undefined in the record, and so is a part whose values are all null. */
  record(values: readonly Value[]): T {
    return recordOf(this.#steps, values) as T;
  }
}

/** The names of columns in a list, each after `prefix`. */
export function names(columns: readonly Column[], prefix = ''): string {
  return columns.map(({ name }) => prefix + name).join(', ');
}

function stepsOf(fields: Declared, first: number): Step[] {
  let from = first;
  return Object.entries(fields).map(([name, declared]) => {
    const field = fieldOf(name, declared);
    const part = field === undefined ? stepsOf(declared as Declared, from) : [];
    const to = part.at(-1)?.to ?? from + 1;
    const step = { name, from, to, field, part };
    from = to;
    return step;
  });
}

/** Undefined if it is a part. */
function fieldOf(name: string, declared: Declared[string]): Field | undefined {
  if (typeof declared === 'string') return { type: declared, column: columnOf(name) };
  return typeof declared.column === 'string' ? (declared as Field) : undefined;
}

function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function fieldsIn(steps: readonly Step[]): Field[] {
  return steps.flatMap(({ field, part }) => (field === undefined ? fieldsIn(part) : [field]));
}

type RecordLike = { readonly [name: string]: unknown } | undefined;

function putValues(steps: readonly Step[], record: RecordLike, values: Value[]): void {
  for (const { name, field, part } of steps) {
    const value = record?.[name];
    if (field === undefined) putValues(part, value as RecordLike, values);
    else values.push(field.flat === undefined ? ((value ?? null) as Value) : field.flat(value as never));
  }
}

function recordOf(steps: readonly Step[], values: readonly Value[]): RecordLike {
  const record: Record<string, unknown> = {};
  for (const { name, from, to, field, part } of steps) {
    if (field !== undefined)
      record[name] = field.full === undefined ? (values[from] ?? undefined) : field.full(values[from] as never);
    else record[name] = isBlank(values, from, to) ? undefined : recordOf(part, values);
  }
  return record;
}

function isBlank(values: readonly Value[], from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (values[at] !== null) return false;
  return true;
}
