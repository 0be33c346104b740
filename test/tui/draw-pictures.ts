/** Writes `pictures.txt`: the views at several sizes. Read the difference before you commit it. */
import { writeFileSync } from 'node:fs';
import { drawPictures } from './view-samples.ts';

writeFileSync(new URL('./pictures.txt', import.meta.url), drawPictures());
