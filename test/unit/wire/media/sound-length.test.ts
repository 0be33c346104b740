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

/** The content of the first box of this name. */
function boxAt(bytes: Buffer, name: string): number {
  return bytes.indexOf(name) + 4;
}

describe('the length of an M4A', () => {
  const LIES: readonly (readonly [what: string, lie: (bytes: Buffer) => void])[] = [
    ['times of a single frame', (bytes) => bytes.writeUInt32BE(1, boxAt(bytes, 'stts') + 8)],
    ['frames that take no time', (bytes) => bytes.writeUInt32BE(0, boxAt(bytes, 'stts') + 12)],
    ['a higher rate than that of its decoder', (bytes) => bytes.writeUInt16BE(65_535, boxAt(bytes, 'mp4a') + 24)],
    ['times that are all gone', (bytes) => bytes.write('free', bytes.indexOf('stts'))],
  ];
  for (const [what, lie] of LIES) {
    test(`is that of its frames, also with ${what}`, () => {
      const bytes = Buffer.from(fixture('1.5s.m4a'));
      // The units of film and track are no more than a thousandth of a second.
      for (const box of ['mvhd', 'mdhd']) bytes.writeUInt32BE(1, boxAt(bytes, box) + 16);
      lie(bytes);
      const seconds = soundSecondsAtMost(bytes);
      assert.ok(seconds >= 1.5 && seconds < 1.7, String(seconds));
    });
  }

  for (const [what, change] of [
    ['another codec', (bytes: Buffer) => bytes.write('samr', bytes.indexOf('mp4a'))],
    ['MP3 that is called AAC', (bytes: Buffer) => bytes.writeUInt8(0x6b, bytes.indexOf(Buffer.of(0x40, 0x15)))],
    ['a track that does not say what it is', (bytes: Buffer) => bytes.write('free', bytes.indexOf('stsd'))],
  ] as const) {
    test(`goes by its size with ${what}`, () => {
      const bytes = Buffer.from(fixture('1.5s.m4a'));
      change(bytes);
      assert.equal(soundSecondsAtMost(bytes), size(bytes));
    });
  }

  test('has no part in pictures beside it', () => {
    const bytes = Buffer.from(fixture('1.5s.m4a'));
    bytes.write('vide', boxAt(bytes, 'hdlr') + 8);
    bytes.write('avc1', bytes.indexOf('mp4a'));
    assert.ok(soundSecondsAtMost(bytes) < 1.7);
  });
});

test('a file with more pieces than hours of sound have is as long as any, and nobody walks over the rest', () => {
  const page = (payload: Buffer) => {
    const head = Buffer.alloc(28);
    head.write('OggS');
    head.writeUInt8(1, 26);
    head.writeUInt8(payload.length, 27);
    return Buffer.concat([head, payload]);
  };
  const opus = page(Buffer.concat([Buffer.from('OpusHead'), Buffer.alloc(11)]));
  const emptyPage = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24, 0xff)]).fill(0, 14, 18);
  const webm = Buffer.from('\x1a\x45\xdf\xa3\x80\x86\x86A_OPUS', 'latin1');
  for (const [start, piece, bytes] of [
    [fixture('1.5s.flac').subarray(0, 42), Buffer.of(0xff, 0xf8), 2_000_000],
    [opus, emptyPage, 1_000_000],
    [webm, Buffer.of(0xe7, 0x80), 5_000_000],
  ] as const) {
    const file = Buffer.alloc(bytes, piece);
    start.copy(file);
    assert.equal(soundSecondsAtMost(file), 1_000_000, start.toString('latin1', 0, 4));
  }
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
