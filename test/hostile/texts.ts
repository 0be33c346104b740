/**
 * Texts of the alphabets that senders choose from: prose for the honest, and all that has many
 * tokens for its length.
 */
import type { Random } from '../support/random.ts';

export type Alphabet = keyof typeof ALPHABETS;

const WORDS =
  `the of and to in is that for it was on are with as his they be at one have this from or had by hot but some what there we
  can out other were all your when up use word how said an each she which do their time if will way about many then them would
  write like so these her long make thing see him two has look more day could go come did my sound no most number who over know
  water than call first people may down side been now find`.split(/\s+/);

const SIGNS = [...'!"#$%&()*+,-./:;<=>?@[]^_{|}~\\\''];
const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];

const codePoint = (first: number, last: number) => (random: Random) =>
  String.fromCodePoint(random.between(first, last));
const oneOf = (items: readonly string[]) => (random: Random) => random.pick(items);

/** Each returns the next characters of a text. */
const ALPHABETS = {
  prose: (random: Random) => ` ${random.pick(WORDS)}`,
  code: (random: Random) => `  const ${random.pick(WORDS)} = ${random.pick(WORDS)}(${random.pick(WORDS)});\n`,
  digits: (random: Random) => String(random.between(0, 9)),
  signs: oneOf(SIGNS),
  letters: oneOf(LETTERS),
  ideographs: codePoint(0x4e00, 0x9fa5),
  'rare ideographs': codePoint(0x20000, 0x2a6d0),
  hieroglyphs: codePoint(0x13000, 0x1342e),
  emoji: codePoint(0x1f300, 0x1f5ff),
  hangul: codePoint(0xac00, 0xd7a3),
  Cyrillic: codePoint(0x410, 0x44f),
  'combining marks': (random: Random) => `a${String.fromCodePoint(random.between(0x300, 0x36f))}`,
  'white space': oneOf([' ', '\n', '\t', '\r\n', '\u00a0', '\u3000']),
  'lone letters': (random: Random) => ` ${random.pick(LETTERS)}`,
} as const;

export const ALL_ALPHABETS = Object.keys(ALPHABETS) as Alphabet[];
/** Those with many more tokens than an estimate for prose expects. */
export const DENSE: readonly Alphabet[] = ALL_ALPHABETS.filter((name) => name !== 'prose' && name !== 'code');

/** A random text of at least `characters` UTF-16 units. */
export function textOf(alphabet: Alphabet, characters: number, random: Random): string {
  const next: (random: Random) => string = ALPHABETS[alphabet];
  const parts: string[] = [];
  for (let length = 0; length < characters; ) {
    const part = next(random);
    parts.push(part);
    length += part.length;
  }
  return parts.join('');
}

/** What makes a text look like an attachment, or hides dense text behind what is cheap. */
export const DISGUISES: readonly (readonly [name: string, disguise: (text: string) => string])[] = [
  ['plain', (text) => text],
  ['data URL', (text) => `data:;base64,${text}`],
  ['data URL of a picture', (text) => `data:image/png;base64,${text}`],
  ['after blanks', (text) => ' '.repeat(2_000) + text],
  ['before blanks', (text) => text + ' '.repeat(2_000)],
  ['among blanks', (text) => text.replace(/.{40}/gsu, (part) => part + ' '.repeat(40))],
];
