/** The kind of a file is told by its content, and a file that a PDF reader would open is a PDF. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { beginsAsSound, kindOf, type MediaKind } from '../../../../src/wire/media/kind.ts';

const FIXTURES = new URL('fixtures/', import.meta.url);
/** Sound of these two is read in forms alone: elsewhere it may be a film. */
const KIND_BY_ENDING: Readonly<Record<string, MediaKind>> = {
  jpg: 'jpeg',
  m4a: 'other',
  webm: 'other',
};

test('files that common programs wrote are what their names say', () => {
  for (const name of readdirSync(FIXTURES)) {
    const ending = name.split('.').at(-1) as string;
    assert.equal(kindOf(readFileSync(new URL(name, FIXTURES))), KIND_BY_ENDING[ending] ?? ending, name);
  }
});

const PNG = '\x89PNG\r\n\x1a\n';
const KINDS: readonly (readonly [string | Buffer, MediaKind])[] = [
  ['', 'text'],
  ['plain\ttext\r\nof two lines and\fa page', 'text'],
  [Buffer.from('\ufeffÜber 本 🎈'), 'text'],
  ['a bell \x07', 'other'],
  ['a null \0', 'other'],
  ['a delete \x7f', 'other'],
  [Buffer.from('a control beyond ASCII \u0085'), 'other'],
  [Buffer.from('a space beyond ASCII \u00a0'), 'text'],
  ['\xff no UTF-8', 'other'],
  [Buffer.from('text in UTF-16', 'utf16le'), 'other'],
  ['GIF87a', 'gif'],
  ['GIF88a', 'text'],
  ['RIFF\0\0\0\0AVI ', 'other'],
  ['RIFX\0\0\0\0WAVE', 'other'],
  ['ID3\x04\0', 'mp3'],
  ['\xff\xfb\x90\x00', 'mp3'],
  ['\xff\xfb\x00\x00', 'other'],
  ['%PDF', 'pdf'],
  [`${PNG} and then %PDF-1.4`, 'pdf'],
  ['a text that is a PDF as well\n%PDF-1.4', 'pdf'],
  ['%!PS-Adobe-3.0 PDF-1.4', 'pdf'],
  ['%!PS-Adobe-3.0 EPSF-3.0', 'text'],
];

test('a kind needs what its readers need', () => {
  for (const [content, kind] of KINDS) {
    assert.equal(kindOf(Buffer.from(content as string, 'latin1')), kind, String(content));
  }
});

test('audio and films begin as their formats do', () => {
  for (const name of readdirSync(FIXTURES)) {
    const isSound = /\.(?:wav|mp3|flac|m4a|mp4|ogg|webm)$/.test(name);
    assert.equal(beginsAsSound(readFileSync(new URL(name, FIXTURES))), isSound, name);
  }
  for (const start of [
    'FORM\0\0\0\x01AIFF',
    '.snd',
    '#!AMR\n',
    'FLV\x01',
    'RIFF\0\0\0\0AVI ',
    '\xff\xf1',
    '\0\0\0\x18ftypisom',
  ]) {
    assert.equal(beginsAsSound(Buffer.from(start, 'latin1')), true, start);
  }
  for (const start of ['\0\0\0\x18ftypavif', 'PK\x03\x04', '\xd0\xcf\x11\xe0', 'RIFF\0\0\0\0WEBP', 'a text', '']) {
    assert.equal(beginsAsSound(Buffer.from(start, 'latin1')), false, start);
  }
});

test('a PDF header counts up to where readers look for it, and not further on', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1_100 }), fc.constantFrom(PNG, 'GIF89a', 'ID3', ''), (at, start) => {
      const file = Buffer.from(`${start.padEnd(at, 'x').slice(0, at)}%PDF-1.7`, 'latin1');
      assert.equal(kindOf(file) === 'pdf', at <= 1_024 + '%!PS-Adobe-NN.NN PDF-'.length - '%PDF'.length);
    }),
  );
});

test('a text has no control characters but tab, newlines and form feed', () => {
  const controls = ['\0', '\x07', '\x0b', '\x1b', '\x7f', '\x80', '\x9f'];
  const others = ['\t', '\n', '\f', '\r', ' ', '~', '\xa0', 'é', '\u0400', '本', '🎈'];
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...controls, ...others) }), (content) => {
      const isText = !controls.some((control) => content.includes(control));
      assert.equal(kindOf(Buffer.from(content)), isText ? 'text' : 'other');
    }),
  );
});
