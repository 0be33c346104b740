/** How the figures of rows of the journal are added up. */
import { IS_ERROR, SUM_FIGURES } from '../../sql.ts';

/** `ON CONFLICT … DO UPDATE SET` what adds the new figures to the stored ones, which are called `u`. */
export const ADD_FIGURES = SUM_FIGURES.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ');

/** Of ended requests. */
export const SUMS = ['count(*)', `count(*) FILTER (WHERE ${IS_ERROR})`, ...summed(SUM_FIGURES.slice(2))].join(', ');

/** Of what has these figures. */
export const SUMMED = summed(SUM_FIGURES).join(', ');

function summed(figures: readonly string[]): string[] {
  return figures.map((name) => `sum(${name})`);
}

/** What the sums of levels and of names need of a request that has ended: of which it is, and its figures. */
export const summandOf = (day: string, model: string) =>
  `ROW(${day}, key_id, ${model}, levels, by_user, by_tag, by_app, 1, (${IS_ERROR})::int, ${SUM_FIGURES.slice(2).join(', ')})::inf_gw.summand`;
