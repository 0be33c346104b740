/** SQL fragments that only SQLite understands. */
import { SUM_FIGURES } from '../sql.ts';

/** The UTC day and month of admission, by which usage is counted. */
export const ADMISSION_DAY = "strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch')";
export const ADMISSION_MONTH = "strftime('%Y-%m', admitted_at_ms / 1000, 'unixepoch')";

/** For ON CONFLICT DO UPDATE SET: adds the figures of the new row to the stored row. */
export const ADD_FIGURES = SUM_FIGURES.map((figure) => `${figure} = ${figure} + excluded.${figure}`).join(', ');
