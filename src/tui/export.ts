/** Writes the rows of the Usage view to a file. */
import { writeFileSync } from 'node:fs';
import { usageCsv } from '../operator/export.ts';
import type { Model } from './model.ts';
import type { Event } from './update/step.ts';

/** Never overwrites a file. */
export function exportUsage(path: string, { rows, rowsBy }: Model['usage']): Extract<Event, { kind: 'outcome' }> {
  try {
    // What was used only the week before is no part of the range.
    const used = rows.filter(({ requests }) => requests > 0);
    writeFileSync(path, usageCsv(used, rowsBy), { flag: 'wx' });
    return { kind: 'outcome', text: `Wrote ${path}.`, tone: 'good' };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'the file already exists; choose another name' : `cannot be written (${code})`;
    return { kind: 'outcome', text: `${path}: ${why}`, tone: 'bad' };
  }
}
