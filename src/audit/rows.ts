/** Rules for every journal row and for sums of rows, in SQL that both stores accept. */
import { MAX_NANOS, type Row } from './checks.ts';

/** Conditions that no valid row meets, and how to describe a row that meets one. */
const INVALID: readonly (readonly [condition: string, description: string])[] = [
  [
    `prompt_tokens < 0 OR completion_tokens < 0 OR cost_nanos < 0 OR cost_nanos > ${MAX_NANOS}`,
    'has a figure out of range',
  ],
  ['cached_tokens NOT BETWEEN 0 AND prompt_tokens', 'has more cached tokens than input tokens'],
  [
    'cached_tokens + cache_write_tokens > prompt_tokens',
    'has more tokens read from the cache and written to it than input tokens',
  ],
  [
    `outcome NOT IN ('ok', 'cancelled', 'interrupted', 'upstream_error', 'invalid_request', 'internal_error',
       'insufficient_credit', 'spend_limit_reached')`,
    'has an unknown outcome',
  ],
  ["outcome = 'interrupted' AND source <> 'held'", 'was interrupted but not charged as held'],
  ["outcome = 'ok' AND source = 'held'", 'has ended as it should, but is charged as held'],
  [
    "outcome = 'interrupted' AND corrected_at_ms IS NULL AND cost_nanos <> coalesce(hold_nanos, cost_nanos)",
    'was interrupted, but is not charged with the amount of its hold',
  ],
  [
    "outcome IN ('ok', 'cancelled') AND failure_reason IS NOT NULL AND NOT (outcome = 'ok' AND failure_reason = 'leash_maximum')",
    'did not fail, but has a reason for a failure',
  ],
  ["source <> 'held' AND corrected_at_ms IS NOT NULL", 'was corrected, but is not charged as held'],
  ['settled_at_ms < 0 OR admitted_at_ms < 0', 'has a time before 1970'],
];

const CONDITIONS = INVALID.map(([condition]) => `(${condition})`);
/** True for an invalid row. */
export const IS_INVALID = CONDITIONS.join(' OR ');

/** Columns with 1 for each condition that the row meets. `isMet` turns a condition into a number. */
export function faultColumns(isMet: (condition: string) => string): string {
  return CONDITIONS.map((condition, i) => `${isMet(condition)} AS invalid${i}`).join(', ');
}

/** Describes the faults of a row with `request_id` and the columns of {@link faultColumns}. */
export function rowDifferences({ request_id: id, ...conditions }: Readonly<Record<string, unknown>>): string[] {
  return INVALID.flatMap(([, description], i) =>
    conditions[`invalid${i}`] === 1n ? [`request ${id} ${description}`] : [],
  );
}

/** Keys of the sums, next to the day or month, and the summed figures. */
export const NAMES = ['key_id', 'model', 'source'] as const;
export const FIGURES = [
  'requests',
  'errors',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'cost_nanos',
] as const;
export const SUM_COLUMNS = [...NAMES, ...FIGURES].join(', ');
const FIGURE_OF_ROW: Readonly<Partial<Record<(typeof FIGURES)[number], string>>> = {
  requests: '1',
  errors: "CASE WHEN outcome IN ('ok', 'cancelled') THEN 0 ELSE 1 END",
};
/** The figures of one journal row. */
export const FIGURES_OF_ROW = FIGURES.map((figure) => `${FIGURE_OF_ROW[figure] ?? figure} AS ${figure}`).join(', ');
/** The sums of a group of journal rows. */
export const SUMS_OF_ROWS = FIGURES.map((figure) => `sum(${FIGURE_OF_ROW[figure] ?? figure}) AS ${figure}`).join(', ');

export const SUMS = FIGURES.map((figure) => `sum(${figure}) AS ${figure}`).join(', ');
/** Columns of a join: `e_…` is expected, `s_…` is stored. NULL for a missing row. */
export const COMPARED_FIGURES = ['e', 's']
  .flatMap((side) => FIGURES.map((figure) => `${side}.${figure} AS ${side}_${figure}`))
  .join(', ');

/**
 * The sums of both sides by key: `e_…` expected, `s_…` stored, NULL if the side has no row. A union reads each side once; a full
 * join without an index takes quadratic time in SQLite.
 */
export function sumsOfSides(
  keys: readonly string[],
  figures: readonly string[],
  rows: Readonly<Record<'expected' | 'stored', string>>,
): string {
  const names = keys.join(', ');
  const side = (name: 'expected' | 'stored', letter: 'e' | 's') => {
    const columns = SIDES.flatMap((each) =>
      figures.map((figure) => `${each === letter ? figure : 'NULL'} AS ${each}_${figure}`),
    );
    return `SELECT ${names}, ${columns.join(', ')} FROM (${rows[name]}) AS ${name}`;
  };
  const sums = SIDES.flatMap((each) => figures.map((figure) => `sum(${each}_${figure}) AS ${each}_${figure}`));
  return `SELECT ${names}, ${sums.join(', ')} FROM (${side('expected', 'e')} UNION ALL ${side('stored', 's')}) AS sides
    GROUP BY ${names}`;
}

const SIDES = ['e', 's'] as const;

export type SumFigures = Readonly<Record<(typeof FIGURES)[number], bigint>>;

/**
 * Differences between the stored sums and those in the journal; `undefined` means no rows. `name` identifies the sums in
 * messages.
 */
export function sumDifferences(
  name: string,
  stored: SumFigures | undefined,
  journal: SumFigures | undefined,
): string[] {
  if (stored === undefined) return [`${name}: the sums are missing`];
  return FIGURES.flatMap((figure) => {
    const [is, should] = [stored[figure], journal?.[figure] ?? 0n];
    return is === should ? [] : [`${name}: ${figure} is ${is}, but the journal has ${should}`];
  });
}

/** Like {@link sumDifferences}, for a row with {@link COMPARED_FIGURES}; `keys` are the columns of its name. */
export function differencesIn(row: Row, keys: readonly string[]): string[] {
  const figures = (side: 's' | 'e') =>
    row[`${side}_requests`] === null
      ? undefined
      : (Object.fromEntries(FIGURES.map((figure) => [figure, row[`${side}_${figure}`]])) as unknown as SumFigures);
  return sumDifferences(keys.map((key) => row[key]).join(' '), figures('s'), figures('e'));
}
