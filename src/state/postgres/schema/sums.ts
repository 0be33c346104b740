/** How the figures of rows of the journal are added up. */
import { IS_ERROR, SUM_FIGURES } from '../../sql.ts';

/** `ON CONFLICT … DO UPDATE SET` what adds the new figures to the stored ones, which are called `u`. */
export const ADD_FIGURES = SUM_FIGURES.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ');

/** Of ended requests. */
export const SUMS = summed();

/** The same of what is multiplied with that. */
export function summed(factor = ''): string {
  const sums = [
    'count(*)',
    `count(*) FILTER (WHERE ${IS_ERROR})`,
    ...SUM_FIGURES.slice(2).map((name) => `sum(${name})`),
  ];
  return sums.map((sum) => factor + sum).join(', ');
}
