/** The words of a filter, such as `opus state:disabled cost>1 -err:*`: what they say, and whether a row passes. Pure. */

export type Value = string | number | undefined;

type Operator = ':' | '=' | '>' | '<' | '>=' | '<=';

export interface Word {
  /** The field that it names; undefined if any text of the row will do. */
  readonly field: string | undefined;
  readonly operator: Operator;
  /** In lower case. */
  readonly text: string;
  /** Whether only rows pass that do not match. */
  readonly isNegated: boolean;
}

/** A blank inside quotes does not end a word. The last quote may still be missing while it is typed. */
const WORD = /(-?)(?:([a-z]+)(>=|<=|[:=<>]))?("[^"]*"?|[^\s"]+)?/giy;

/** A name that is not among the fields is text like any other: ids of models have colons. */
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

/** A word that finds exactly this value of a field. */
export function exactWord(field: string, value: string): string {
  return /[\s"]/.test(value) ? `${field}="${value.replaceAll('"', '')}"` : `${field}=${value}`;
}

/** What a row has in a field. */
interface Content {
  readonly value: Value;
  /** Whether it is a time in seconds: there `m` is a minute, and a million elsewhere. */
  readonly isTime: boolean;
}

/** Whether a row passes that has this content in a field, and these texts in any. */
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
  // While the value is still being typed, nothing disappears.
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

/** Whether a field of numbers is compared with something else: such a word finds nothing. */
export function isUnreadable({ operator, text }: Word, isText: boolean, isTime: boolean): boolean {
  const isCompared = operator !== ':' && text !== '' && text !== '*';
  return isCompared && !isText && numberOf(text, isTime) === undefined;
}

const NUMBER = /^(\d+(?:\.\d*)?|\.\d+)(%|ms|min|[kmshd])?$/;
const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, min: 60, h: 3_600, d: 86_400 };
const MULTIPLES: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };

/** A number with its unit, `10k` or `90%`, or a time in seconds: `7d`, `30m`. Undefined for anything else. */
export function numberOf(text: string, isTime: boolean): number | undefined {
  const [, digits, unit = ''] = NUMBER.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * ((isTime ? SECONDS : MULTIPLES)[unit] ?? 1);
}
