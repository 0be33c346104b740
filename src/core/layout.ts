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
  /** The values of a record, in the order of the columns. */
  readonly values: (record: T) => Value[];
  /** The record with these values. What is null is undefined there, and so is a part of which all is null. */
  readonly record: (values: readonly Value[]) => T;

  constructor(fields: Fields<T>) {
    const steps = stepsOf(fields as Declared, 0);
    const stored = fieldsIn(steps);
    this.columns = stored.map(({ column, type }) => ({ name: column, type }));
    // Compiled: to walk the fields takes seven times as long (0.6 instead of 0.08 µs for both, Node 26).
    this.values = new Function('fields', `return (record) => [${valuesIn(steps, 'record')}]`)(stored);
    this.record = new Function('fields', `return (values) => (${recordOf(steps)})`)(stored);
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

/** The source of the values that a record has, separated by commas. */
function valuesIn(steps: readonly Step[], record: string): string {
  return steps
    .map(({ name, from, field, part }) => {
      const value = `${record}?.${name}`;
      if (field === undefined) return valuesIn(part, value);
      return field.flat === undefined ? `${value} ?? null` : `fields[${from}].flat(${value})`;
    })
    .join(', ');
}

/** The source of a record with the values at these places. */
function recordOf(steps: readonly Step[]): string {
  const members = steps.map(({ name, from, to, field, part }) => {
    if (field?.full !== undefined) return `${name}: fields[${from}].full(values[${from}])`;
    if (field !== undefined) return `${name}: values[${from}] ?? undefined`;
    const blanks = Array.from({ length: to - from }, (_, at) => `values[${from + at}] === null`);
    return `${name}: ${blanks.join(' && ')} ? undefined : ${recordOf(part)}`;
  });
  return `{ ${members.join(', ')} }`;
}
