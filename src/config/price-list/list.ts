/** Parses the community's price list as JSON, and keeps each number as its text. */
import { UserError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';

/** A number as text: money must not pass through floats. */
export class Decimal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An entry of the list. */
export type ListEntry = Readonly<Record<string, unknown>>;

/** Entries that describe the list itself. */
const NO_MODELS: ReadonlySet<string> = new Set(['sample_spec', 'fallback_generalizations']);

/** Python's spellings of numbers that JSON lacks. */
const NOT_JSON = /(:\s*)(NaN|-?Infinity)(?=\s*[,}\]])/g;

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

const keepDecimals: Reviver = (_, value, { source }) =>
  typeof value === 'number' ? new Decimal(source ?? String(value)) : value;

/** The entries of a list by name. Throws a UserError if the text is not a price list. */
export function readPriceList(text: string, shownPath: string): ReadonlyMap<string, ListEntry> {
  const list = parse(text) ?? parse(text.replace(NOT_JSON, '$1"$2"'));
  if (list === undefined) throw new UserError(`${shownPath}: ${faultIn(text)}`);
  const entries = isObject(list) ? Object.entries(list) : [];
  const models = entries.filter(
    (entry): entry is [string, ListEntry] => !NO_MODELS.has(entry[0]) && isObject(entry[1]),
  );
  if (models.some(([, entry]) => typeof entry.litellm_provider === 'string')) return new Map(models);
  throw new UserError(
    `${shownPath} is not a price list: expected LiteLLM's model_prices_and_context_window.json, a map of models with litellm_provider and prices`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text, keepDecimals as (key: string, value: unknown) => unknown);
  } catch {
    return undefined;
  }
}

function faultIn(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return `not JSON: ${(error as Error).message.replace(/\s+/g, ' ')}`;
  }
  return 'not JSON';
}
