/** Texts with many tokens for their length, and the form of a place for them. */
import type { Fields } from '../../hostile/names.ts';
import { textOf } from '../../hostile/texts.ts';
import { Random } from '../../support/random.ts';

/** Where a text stands, and the fields of a request that has it there. */
export type Place = readonly [where: string, fields: Fields];

const CHARACTERS = 500;
const random = new Random(7);
export const TEXT = textOf('ideographs', CHARACTERS, random);
export const LETTERS = textOf('letters', CHARACTERS, random);
/** With more tokens than a picture. */
export const MANY_LETTERS = textOf('letters', 3_500, random);
export const DISGUISED = `data:;base64,${TEXT}`;
export const NUMBERS = Array.from({ length: 100 }, () => random.between(1e14, 9e14));
export const HELLO = { role: 'user', content: 'Hello' };
