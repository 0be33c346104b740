/** Expressions that add up journal rows. */
import { IS_ERROR, SUM_FIGURES } from '../../sql.ts';

/** For `ON CONFLICT … DO UPDATE SET`: adds the new figures to the stored row `u`. */
export const ADD_FIGURES = SUM_FIGURES.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ');

/** The sums of ended requests. */
export const SUMS = ['count(*)', `count(*) FILTER (WHERE ${IS_ERROR})`, ...summed(SUM_FIGURES.slice(2))].join(', ');

/** The sums of rows with these figures. */
export const SUMMED = summed(SUM_FIGURES).join(', ');

function summed(figures: readonly string[]): string[] {
  return figures.map((name) => `sum(${name})`);
}

/** An ended request as a `summand`: the keys of the sums by level and name, and its figures. */
export const summandOf = (day: string, model: string) =>
  `ROW(${day}, key_id, ${model}, levels, by_user, by_tag, by_app, 1, (${IS_ERROR})::int, ${SUM_FIGURES.slice(2).join(', ')})::inf_gw.summand`;
