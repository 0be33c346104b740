/** How long a file of sound can be: never less than it is, for any file and any bytes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { opusPacketSeconds } from '../../../../src/wire/media/opus.ts';
import { soundSecondsAtMost } from '../../../../src/wire/media/sound-length.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url));
const size = (bytes: Buffer) => bytes.length / 87;

/** Made with ffmpeg of a tone of a second and a half. */
const FILES: readonly (readonly [name: string, most: number])[] = [
  ['1.5s.mp3', 1.8],
  ['1.5s.flac', 1.55],
  ['1.5s-opus.ogg', 1.8],
  ['1.5s-vorbis.ogg', 3],
  ['1.5s.m4a', 1.7],
  ['1.5s.webm', 1.7],
  ['1.5s-streamed.webm', 1.7],
];

describe('the length of a file', () => {
  for (const [name, most] of FILES) {
    test(`is at least what it is, and hardly more: ${name}`, () => {
      const seconds = soundSecondsAtMost(fixture(name));
      assert.ok(seconds >= 1.5 && seconds <= most, String(seconds));
    });
  }

  test('of WAV is that of its samples', () => {
    const seconds = soundSecondsAtMost(fixture('0.5s.wav'));
    assert.ok(seconds >= 0.5 && seconds < 0.51, String(seconds));
  });

  for (const name of ['1.5s-fragmented.m4a', '40x30.png']) {
    test(`that nobody here can read goes by its size: ${name}`, () =>
      assert.equal(soundSecondsAtMost(fixture(name)), size(fixture(name))));
  }

  /** Where a header says how long it is, and how a lie is written there. */
  for (const [name, lie] of [
    ['1.5s.flac', (bytes: Buffer) => bytes.fill(0, 21, 26)],
    ['1.5s-opus.ogg', (bytes: Buffer) => everyPage(bytes, (at) => bytes.fill(0, at + 6, at + 14))],
    ['1.5s-vorbis.ogg', (bytes: Buffer) => everyPage(bytes, (at) => bytes.fill(0, at + 6, at + 14))],
    ['1.5s.m4a', (bytes: Buffer) => bytes.writeUInt32BE(1, bytes.indexOf('mvhd') + 20)],
    ['1.5s.m4a', (bytes: Buffer) => bytes.writeUInt32BE(2 ** 31, bytes.indexOf('mdhd') + 16)],
    [
      '1.5s.webm',
      (bytes: Buffer) => bytes.fill(0, bytes.indexOf('4489', 'hex') + 3, bytes.indexOf('4489', 'hex') + 11),
    ],
  ] as const) {
    test(`is no less for a lie in its header: ${name}, ${lie}`, () => {
      const bytes = Buffer.from(fixture(name));
      lie(bytes);
      assert.ok(soundSecondsAtMost(bytes) >= 1.4, String(soundSecondsAtMost(bytes)));
    });
  }

  test('grows with what is added to a file', () => {
    for (const name of ['1.5s-opus.ogg', '1.5s-vorbis.ogg', '1.5s.flac']) {
      const file = fixture(name);
      assert.ok(soundSecondsAtMost(Buffer.concat([file, file])) >= 2.9, name);
    }
  });
});

function everyPage(bytes: Buffer, change: (at: number) => void): void {
  for (let at = bytes.indexOf('OggS'); at >= 0; at = bytes.indexOf('OggS', at + 4)) change(at);
}

test('any bytes have a length, whatever they begin as', () => {
  const starts = FILES.map(([name]) => fixture(name));
  const mutated = fc
    .tuple(
      fc.constantFrom(...starts),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 8 }),
      fc.nat(),
    )
    .map(([file, edits, length]) => {
      const bytes = Buffer.from(file.subarray(0, length % 3 === 0 ? length % file.length : file.length));
      for (const [at, byte] of edits) if (bytes.length > 0) bytes[at % Math.min(bytes.length, 400)] = byte;
      return bytes;
    });
  const random = fc
    .tuple(fc.constantFrom('', 'fLaC', 'OggS', '\x1a\x45\xdf\xa3', '\0\0\0\x18ftyp'), fc.uint8Array({ maxLength: 400 }))
    .map(([start, rest]) => Buffer.concat([Buffer.from(start, 'latin1'), rest]));
  fc.assert(
    fc.property(fc.oneof(mutated, random), (bytes) => {
      const seconds = soundSecondsAtMost(bytes);
      return seconds >= 0 && seconds <= 1_000_000;
    }),
    { numRuns: 3_000 },
  );
});

describe('a packet of Opus', () => {
  for (const [first, second, seconds] of [
    [0b00000_0_00, 0, 0.01],
    [0b00011_0_00, 0, 0.06],
    [0b01101_0_01, 0, 0.04],
    [0b10000_0_00, 0, 0.0025],
    [0b11111_0_10, 0, 0.04],
    [0b11111_0_11, 6, 0.12],
    [0b11111_0_11, 63, 0.12],
  ] as const) {
    test(`${first.toString(2).padStart(8, '0')} ${second}`, () =>
      assert.equal(opusPacketSeconds(first, second).toFixed(4), seconds.toFixed(4)));
  }
});
