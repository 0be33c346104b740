/** Writes `pictures.txt`: what commands print on terminals of several widths. Read the difference before you commit it. */
import { writeFileSync } from 'node:fs';
import { drawPictures } from './samples.ts';

writeFileSync(new URL('./pictures.txt', import.meta.url), drawPictures());
