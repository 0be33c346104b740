/** Loaded into `serve` before the program itself: at SIGUSR2 it takes every descriptor that is left, and gives them back at the next. */
import { closeSync, openSync } from 'node:fs';

const taken: number[] = [];

process.on('SIGUSR2', () => {
  if (taken.length > 0) {
    for (const file of taken.splice(0)) closeSync(file);
    process.stdout.write('given back\n');
    return;
  }
  try {
    while (true) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    process.stdout.write(`${(error as NodeJS.ErrnoException).code}\n`);
  }
});
