/** The words of a filter, such as `opus state:disabled cost>1 -err:*`, and the test of a row against them. Pure. */

export type Value = string | number | undefined;

type Operator = ':' | '=' | '>' | '<' | '>=' | '<=';

export interface Word {
  /** The field; undefined for a word that matches any text of the row. */
  readonly field: string | undefined;
  readonly operator: Operator;
  /** In lower case. */
  readonly text: string;
  /** Whether the word excludes matching rows. */
  readonly isNegated: boolean;
}

/** A blank inside quotes does not end a word. While a word is being typed, its closing quote may be missing. */
const WORD = /(-?)(?:([a-z]+)(>=|<=|[:=<>]))?("[^"]*"?|[^\s"]+)?/giy;

/** Splits a filter into words. An unknown field name counts as text, since model ids contain colons. */
export function wordsOf(filter: string, fields: readonly string[]): Word[] {
  const words: Word[] = [];
  for (const piece of filter.match(/(?:"[^"]*"?|[^\s"])+/g) ?? []) {
    WORD.lastIndex = 0;
    const [whole = '', minus = '', name, operator, value = ''] = WORD.exec(piece) ?? [];
    const field = name?.toLowerCase();
    const isNegated = minus === '-' && piece !== '-';
    if (field !== undefined && fields.includes(field) && whole === piece) {
      words.push({ field, operator: operator as Operator, text: unquoted(value), isNegated });
    } else {
      words.push({ field: undefined, operator: ':', text: unquoted(isNegated ? piece.slice(1) : piece), isNegated });
    }
  }
  return words;
}

function unquoted(text: string): string {
  return text.replaceAll('"', '').toLowerCase();
}

/** Returns a word that matches exactly this value of a field. */
export function exactWord(field: string, value: string): string {
  return /[\s"]/.test(value) ? `${field}="${value.replaceAll('"', '')}"` : `${field}=${value}`;
}

/** A row's value of a field. */
interface Content {
  readonly value: Value;
  /** Whether it is a time in seconds, where `m` means minutes; elsewhere it means millions. */
  readonly isTime: boolean;
}

/** Whether a row with this value of the field and these other texts passes. */
export function passes(
  words: readonly Word[],
  contentOf: (field: string) => Content,
  hasText: (text: string) => boolean,
): boolean {
  return words.every((word) => {
    const { field, text, isNegated } = word;
    const isMatch = field === undefined ? hasText(text) : isMatchOf(word, contentOf(field));
    return isMatch !== isNegated;
  });
}

function isMatchOf({ operator, text }: Word, { value, isTime }: Content): boolean {
  // An empty value matches every row, so rows do not disappear while it is being typed.
  if (text === '') return true;
  if (value === undefined || value === '') return false;
  if (text === '*') return true;
  if (typeof value === 'number') {
    const wanted = numberOf(text, isTime);
    return wanted === undefined ? String(value).includes(text) : compared(operator, value - wanted);
  }
  const known = value.toLowerCase();
  if (operator === ':') return known.includes(text);
  return compared(operator, known < text ? -1 : known > text ? 1 : 0);
}

function compared(operator: Operator, difference: number): boolean {
  switch (operator) {
    case ':':
    case '=':
      return difference === 0;
    case '>':
      return difference > 0;
    case '<':
      return difference < 0;
    case '>=':
      return difference >= 0;
    case '<=':
      return difference <= 0;
  }
}

/** Whether a numeric field is compared with a text that is not a number; such a word matches no row. */
export function isUnreadable({ operator, text }: Word, isText: boolean, isTime: boolean): boolean {
  const isCompared = operator !== ':' && text !== '' && text !== '*';
  return isCompared && !isText && numberOf(text, isTime) === undefined;
}

const NUMBER = /^(\d+(?:\.\d*)?|\.\d+)(%|ms|min|[kmshd])?$/;
const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, min: 60, h: 3_600, d: 86_400 };
const MULTIPLES: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };

/** Parses a number with its unit, `10k` or `90%`, or a time as seconds: `7d`, `30m`. Undefined for other texts. */
export function numberOf(text: string, isTime: boolean): number | undefined {
  const [, digits, unit = ''] = NUMBER.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * ((isTime ? SECONDS : MULTIPLES)[unit] ?? 1);
}
