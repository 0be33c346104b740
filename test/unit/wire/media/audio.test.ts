/** WAV and MP3 are never shorter than a decoder could make them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { soundLength } from '../../../../src/wire/media/sound-length.ts';
import { adtsFrame, chunk, formatChunk, MP3_FRAME, type WavFormat, wav } from '../../../support/sound-files.ts';

function fixture(name: string): Buffer {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url));
}

const audioSeconds = (bytes: Buffer) => soundLength(bytes)?.seconds;

/** One second is 16,000 bytes. */
const SAMPLES = Buffer.alloc(16_000);
const riff = (...chunks: readonly Buffer[]) => chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]));
const data = chunk('data', SAMPLES);
/** Six bytes that the format of an extensible file has before its GUID, and that GUID with other bytes. */
const extensible = (guid: string) =>
  formatChunk({
    tag: 0xfffe,
    extension: Buffer.concat([Buffer.of(22, 0, 16, 0, 0, 0, 0, 0), Buffer.from(guid, 'hex')]),
  });

describe('a WAV file', () => {
  test('is as long as a common program wrote it', () => {
    const seconds = audioSeconds(fixture('0.5s.wav')) as number;
    assert.ok(seconds >= 0.5 && seconds < 0.51, String(seconds));
  });

  const SECONDS: Readonly<Record<string, readonly [Buffer, number]>> = {
    'is as long as its samples': [wav({}, SAMPLES), 1],
    'is as long as all that follows its header, if that states less': [
      riff(formatChunk({}), chunk('data', SAMPLES, 0)),
      1,
    ],
    'is as long as all that follows its header, if that states more': [
      riff(formatChunk({}), chunk('data', SAMPLES, 0xffffffff)),
      1,
    ],
    'is long if its sample rate is low': [wav({ rate: 100 }, SAMPLES), 80],
    'is as long as its bytes per second state': [wav({ byteRate: 100 }, SAMPLES), 160],
    'is as long as its block states': [wav({ blockBytes: 1 }, SAMPLES), 2],
    'has a byte for a sample of µ-law, whatever it states': [wav({ tag: 7 }, SAMPLES), 2],
    'is as long as its bits state': [wav({ bits: 8, blockBytes: 2 }, SAMPLES), 2],
    'may have other chunks before its format': [
      riff(chunk('LIST', Buffer.from('odd!!')), Buffer.of(0), formatChunk({}), data),
      1,
    ],
    'may have an extensible format': [wav({ tag: 0xfffe, validBits: 16 }, SAMPLES), 1],
    'is as long as its valid bits state': [wav({ tag: 0xfffe, validBits: 8 }, SAMPLES), 2],
  };
  for (const [name, [file, seconds]] of Object.entries(SECONDS)) {
    test(name, () => assert.equal(audioSeconds(file), seconds));
  }

  const loud: WavFormat = { channels: 2, rate: 96_000 };
  const holding = (...pieces: readonly Buffer[]) => wav(loud, Buffer.concat([...pieces, SAMPLES]));
  const twice = (hex: string) => Buffer.from(`${hex}0000${hex}`, 'hex');
  const UNKNOWN: Readonly<Record<string, Buffer>> = {
    'with a compressed format': wav({ tag: 0x55 }, SAMPLES),
    'with a compressed format within an extensible one': riff(extensible('5500000000001000800000aa00389b71'), data),
    'with an extensible format of no family': riff(extensible('0100000000001000810000aa00389b71'), data),
    'with an extensible format that is cut': riff(formatChunk({ tag: 0xfffe }), data),
    'without channels': wav({ channels: 0, blockBytes: 2, byteRate: 1 }, SAMPLES),
    'without a sample rate': wav({ rate: 0 }, SAMPLES),
    'without a format': riff(data),
    'with a format behind its samples': riff(data, formatChunk({})),
    'with a format that is cut': riff(chunk('fmt ', Buffer.alloc(10)), data),
    'with two formats': riff(formatChunk({}), formatChunk({ rate: 80 }), data),
    'with a chunk of a compressed format': riff(formatChunk({}), chunk('XMA2', Buffer.alloc(40)), data),
    'without samples': wav({}, Buffer.alloc(0)),
    'whose samples become an MP3 after a while': holding(SAMPLES, ...Array<Buffer>(7).fill(MP3_FRAME)),
    'whose samples are LOAS': holding(Buffer.from('56e00100'.repeat(3), 'hex')),
    'whose samples are E-AC-3': holding(
      ...Array<Buffer>(7).fill(Buffer.from('0b7700043f800000000000', 'hex').subarray(0, 10)),
    ),
    'whose samples are AC-3 in swapped bytes': holding(
      ...Array<Buffer>(7).fill(Buffer.concat([Buffer.from('770b0000000040', 'hex'), Buffer.alloc(121)])),
    ),
    'whose samples are DTS': holding(twice('7ffe8001')),
    'whose samples are TrueHD': holding(twice('f8726fba')),
    'whose samples are S/PDIF': holding(twice('72f81f4e')),
    'that hides a NUT': holding(Buffer.from('4e4d7a561f5f04ad', 'hex')),
  };
  for (const [name, file] of Object.entries(UNKNOWN)) {
    test(`${name} is not understood`, () => assert.equal(soundLength(file), undefined));
  }

  test('of any quiet noise is understood', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000 }), fc.integer(), (loudness, seed) => {
        const samples = Buffer.alloc(64 * 1_024);
        let random = seed >>> 0;
        for (let at = 0; at < samples.length; at += 2) {
          random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
          samples.writeInt16LE(((random >>> 8) % (2 * loudness + 1)) - loudness, at);
        }
        return audioSeconds(wav({}, samples)) === samples.length / 16_000;
      }),
      { numRuns: 30 },
    );
  });
});

/** The header of a frame of MPEG 1, 2 or 2.5. Layer III is 1. */
function header(
  version: number,
  rateIndex: number,
  sampleIndex: number,
  { layer = 1, padding = 0, emphasis = 0 } = {},
): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(
    ((0x7ff << 21) |
      (version << 19) |
      (layer << 17) |
      (1 << 16) |
      (rateIndex << 12) |
      (sampleIndex << 10) |
      (padding << 9) |
      emphasis) >>>
      0,
  );
  return bytes;
}

const [MPEG1, MPEG2, MPEG25] = [3, 2, 0];

function frameBytes(version: number, rateIndex: number, sampleIndex: number): number {
  const mpeg1 = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
  const others = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
  const kilobits = (version === MPEG1 ? mpeg1 : others)[rateIndex - 1] as number;
  return Math.floor(((version === MPEG1 ? 144_000 : 72_000) * kilobits) / sampleRateOf(version, sampleIndex));
}

function sampleRateOf(version: number, sampleIndex: number): number {
  const divisor = version === MPEG1 ? 1 : version === MPEG2 ? 2 : 4;
  return ([44_100, 48_000, 32_000][sampleIndex] as number) / divisor;
}

/** At 8 kbit/s and 8 kHz, or at 64 kbit/s and 32 kHz: 72 bytes and 72 ms, or 288 bytes and 36 ms. */
const SLOW = MP3_FRAME;
const FAST = Buffer.concat([header(MPEG1, 5, 2), Buffer.alloc(284)]);
/** What a byte counts at least when it is in no frame: 8 kbit/s. */
const LOWEST_RATE = 1_000;

/** A frame of 1,440 bytes that others hide in. */
const large = (hidden: Buffer) => Buffer.concat([header(MPEG1, 14, 2), hidden, Buffer.alloc(1_436)]).subarray(0, 1_440);

function repeated(frame: Buffer, times: number): Buffer {
  return Buffer.concat(Array.from({ length: times }, () => frame));
}

function close(actual: number | undefined, expected: number): void {
  assert.ok(actual !== undefined && Math.abs(actual - expected) < 1e-6, `${actual} for ${expected}`);
}

describe('an MP3', () => {
  test('is as long as a common program wrote it', () => {
    const seconds = audioSeconds(fixture('1.5s.mp3')) as number;
    assert.ok(seconds >= 1.5 && seconds < 1.8, String(seconds));
  });

  test('is as long as its frames, of any rate, or as by the shortest of them', () => {
    const streams = fc.record({
      version: fc.constantFrom(MPEG1, MPEG2, MPEG25),
      sampleIndex: fc.nat({ max: 2 }),
      frames: fc.array(fc.tuple(fc.integer({ min: 1, max: 14 }), fc.nat({ max: 1 })), { minLength: 11, maxLength: 40 }),
      tagBytes: fc.nat({ max: 127 }),
    });
    fc.assert(
      fc.property(streams, ({ version, sampleIndex, frames, tagBytes }) => {
        const tag = Buffer.concat([
          Buffer.from(`ID3\x04\0\0\0\0\0${String.fromCharCode(tagBytes)}`),
          Buffer.alloc(tagBytes),
        ]);
        const written = frames.map(([rateIndex, padding]) => {
          const bytes = frameBytes(version, rateIndex, sampleIndex) + padding;
          // Not zeros: headers at certain offsets among zeros read as the volumes of a tracker module.
          return Buffer.concat([header(version, rateIndex, sampleIndex, { padding }), Buffer.alloc(bytes - 4, 0xaa)]);
        });
        const file = Buffer.concat([tag, ...written]);
        const byShortest = file.length / Math.min(...written.map(({ length }) => length));
        const seconds = (version === MPEG1 ? 1_152 : 576) / sampleRateOf(version, sampleIndex);
        close(audioSeconds(file), Math.max(frames.length, byShortest) * seconds);
      }),
    );
  });

  test('counts what is behind its frames at least at the lowest rate', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 11, max: 30 }),
        fc.uint8Array({ minLength: 1, maxLength: 5_000 }),
        (frames, rest) => {
          fc.pre(rest[0] !== 0xff);
          const seconds = audioSeconds(Buffer.concat([repeated(FAST, frames), rest])) as number;
          assert.ok(seconds >= (frames - 1) * 0.036 + rest.length / LOWEST_RATE);
        },
      ),
    );
  });

  /** In free format, of 24 bytes and 72 ms. */
  const small = Buffer.concat([header(MPEG25, 0, 2), Buffer.alloc(20)]);
  const HIDING: Readonly<Record<string, readonly [Buffer, number]>> = {
    'within a frame that is followed by none': [Buffer.concat([FAST.subarray(0, 4), repeated(SLOW, 200)]), 200],
    'within the last of many frames': [
      Buffer.concat([repeated(FAST, 20), large(repeated(small, 50)), Buffer.alloc(1)]),
      50,
    ],
    'behind frames of another kind': [Buffer.concat([repeated(FAST, 30), repeated(SLOW, 200)]), 200],
    'within few frames, which decoders do not trust': [
      Buffer.concat([repeated(large(repeated(small, 50)), 10), Buffer.alloc(1)]),
      500,
    ],
    'in free format behind other frames': [Buffer.concat([repeated(FAST, 30), repeated(small, 200)]), 200],
  };
  for (const [name, [file, hidden]] of Object.entries(HIDING)) {
    test(`is at least as long as the frames that hide ${name}`, () => {
      assert.ok((audioSeconds(file) as number) >= hidden * 0.072, String(audioSeconds(file)));
    });
  }

  const TAGS = { Xing: 36, Info: 36, VBRI: 36 } as const;
  for (const [tag, at] of Object.entries(TAGS)) {
    test(`is as long as its first frame says by ${tag}, if that is more`, () => {
      const first = Buffer.from(FAST);
      first.write(tag, at);
      first.writeUInt32BE(1, at + 4);
      first.writeUInt32BE(1_000_000, at + (tag === 'VBRI' ? 14 : 8));
      close(audioSeconds(Buffer.concat([first, repeated(FAST, 20)])), 36_000);
      first.writeUInt32BE(1, at + (tag === 'VBRI' ? 14 : 8));
      close(audioSeconds(Buffer.concat([first, repeated(FAST, 20)])), 21 * 0.036);
    });
  }

  test('is not as long as its first frame says where that says nothing of frames', () => {
    const first = Buffer.from(FAST);
    first.write('Xing', 36);
    first.writeUInt32BE(1_000_000, 36 + 8);
    close(audioSeconds(Buffer.concat([first, repeated(FAST, 20)])), 21 * 0.036);
  });

  test('is as long as by the shortest of its frames, if the first says nothing', () => {
    const short = Buffer.concat([header(MPEG1, 1, 2), Buffer.alloc(140)]);
    close(audioSeconds(Buffer.concat([repeated(FAST, 20), short])), (20 * 2 + 1) * 0.036);
  });

  const tagged = (...bytes: readonly number[]) =>
    Buffer.concat([Buffer.from('ID3'), Buffer.from(bytes), repeated(FAST, 20)]);
  const UNKNOWN: Readonly<Record<string, Buffer>> = {
    'of layer I': repeated(Buffer.concat([header(MPEG1, 1, 2, { layer: 3 }), Buffer.alloc(44)]), 30),
    'in free format': repeated(Buffer.concat([header(MPEG1, 0, 2), Buffer.alloc(96)]), 30),
    'with a tag of another version': tagged(0xff, 0, 0, 0, 0, 0, 0),
    'with a tag of a length that readers read differently': tagged(4, 0, 0, 0, 0, 1, 0xa0),
    'with a tag that has a footer': tagged(4, 0, 0x10, 0, 0, 0, 0),
    'with a tag that is longer than the file': tagged(4, 0, 0, 0x7f, 0, 0, 0),
    'with another format behind its tag': Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0fLaC'), Buffer.alloc(99)]),
    'with an emphasis that does not exist': repeated(
      Buffer.concat([header(MPEG1, 5, 2, { emphasis: 2 }), Buffer.alloc(284)]),
      20,
    ),
  };
  for (const [name, file] of Object.entries(UNKNOWN)) {
    test(`${name} is not understood`, () => assert.equal(soundLength(file), undefined));
  }
});

/** What ffmpeg prefers to an MP3 can stand in its frames, and play for hours. */
describe('an MP3 is not understood if it holds', () => {
  const frames = (content: Buffer) =>
    Buffer.concat([FAST.subarray(0, 4), content, repeated(FAST, 60)]).subarray(0, 60 * 288);
  /** Packets of 188 bytes, of which those that begin a frame are broken. */
  const transport = () => {
    const bytes = repeated(FAST, 60);
    for (let at = 188; at < bytes.length; at += 188) if (at % 288 > 4) bytes[at] = 0x47;
    return bytes;
  };
  for (const [what, file] of [
    ['an MP4', Buffer.concat([FAST.subarray(0, 4), Buffer.from('moov'), FAST.subarray(8), repeated(FAST, 20)])],
    ['a NUT', frames(Buffer.from('4e4d7a561f5f04ad', 'hex'))],
    ['a program stream', frames(Buffer.from('000001ba44000001ba', 'hex'))],
    ['a transport stream', transport()],
    ['AAC', large(repeated(adtsFrame(8_000), 7))],
  ] as const) {
    test(what, () => assert.equal(soundLength(file), undefined));
  }
});

test('a file of any other format is not understood', () => {
  for (const start of ['RIFX\0\0\0\0WAVE', '.snd', 'FORM', '#!AMR\n', '%PDF-', '']) {
    assert.equal(soundLength(Buffer.concat([Buffer.from(start), Buffer.alloc(99)])), undefined);
  }
});
