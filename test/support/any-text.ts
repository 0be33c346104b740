/** Any text, for properties. */
import fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const CODE_POINTS = 0x110000;

const character = fc
  .nat({ max: CODE_POINTS - SURROGATES - 1 })
  .map((index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES));

/** Of that many characters at most. `fc.string` makes a table of all characters first, which takes a second of a core. */
export function anyText(maxLength: number): fc.Arbitrary<string> {
  return fc.array(character, { maxLength }).map((characters) => characters.join(''));
}
