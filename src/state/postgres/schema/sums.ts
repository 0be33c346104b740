/** What the sums have in common: the figures of a row of the journal, and how they are added. */

/** What a journal row adds to the sums of its day and month. */
export const FIGURES = [
  'requests',
  'errors',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'cost_nanos',
] as const;

/** `ON CONFLICT … DO UPDATE SET` what adds the new figures to the stored ones, which are called `u`. */
export const ADD_FIGURES = FIGURES.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ');

export const SUM_COLUMNS = `key_id, model, source, ${FIGURES.join(', ')}`;

/** Of ended requests. */
export const SUMS = summed();

/** The same of what is multiplied with that. */
export function summed(factor = ''): string {
  const sums = [
    'count(*)',
    "count(*) FILTER (WHERE outcome NOT IN ('ok', 'cancelled'))",
    ...FIGURES.slice(2).map((name) => `sum(${name})`),
  ];
  return sums.map((sum) => factor + sum).join(', ');
}
