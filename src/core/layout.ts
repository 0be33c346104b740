/**
 * Converts records to and from flat rows for messages between threads and for storage. Fields are declared once, in order. Pure.
 */

/** The type of a field; `nanos` are bigints. The name of any other number ends with its unit. */
export type FieldType = 'text' | 'number' | 'nanos' | 'flag';

/** A value of a flat record; null if it is absent. */
export type Value = string | number | bigint | boolean | null;

/** A field with a different name or representation in the row. */
interface Field {
  readonly type: FieldType;
  readonly column: string;
  /** Converts the value of the record to the stored value; `full` is the inverse. */
  readonly flat?: (part: never) => Value;
  readonly full?: (value: never) => unknown;
}

/** The fields of a record and of its parts. A part may be absent. */
type Fields<T> = {
  readonly [Name in keyof T]-?:
    | FieldType
    | Field
    | (NonNullable<T[Name]> extends object ? Fields<NonNullable<T[Name]>> : never);
};

export interface Column {
  /** The field name in snake case: `cost_nanos` for `costNanos`. */
  readonly name: string;
  readonly type: FieldType;
}

/** A field or part of a record, and its range of columns; `to` is exclusive. */
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

  /** Returns the values of a record, in column order. */
  values(record: T): Value[] {
    const values: Value[] = [];
    putValues(this.#steps, record as RecordLike, values);
    return values;
  }

  /** Returns the record of a row. A null value, and a part whose values are all null, becomes undefined. */
  record(values: readonly Value[]): T {
    return recordOf(this.#steps, values) as T;
  }
}

/** Returns a comma-separated list of column names, each after `prefix`. */
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

/** Returns undefined if the declaration is a part. */
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
