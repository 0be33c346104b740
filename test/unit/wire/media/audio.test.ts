/** Sound is never shorter than what a decoder could make of it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { audioSeconds } from '../../../../src/wire/media/sound-length.ts';

function fixture(name: string): Buffer {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url));
}

interface Format {
  readonly format: number;
  readonly channels: number;
  readonly sampleRate: number;
  readonly byteRate: number;
  readonly blockBytes: number;
  readonly bits: number;
}

/** One second is 16,000 bytes. */
const PCM: Format = { format: 1, channels: 1, sampleRate: 8_000, byteRate: 16_000, blockBytes: 2, bits: 16 };
const PCM_GUID = Buffer.from('0100000000001000800000aa00389b71', 'hex');

function formatChunk(format: Format, extension = Buffer.alloc(0)): Buffer {
  const chunk = Buffer.alloc(24);
  chunk.write('fmt ');
  chunk.writeUInt32LE(16 + extension.length, 4);
  chunk.writeUInt16LE(format.format, 8);
  chunk.writeUInt16LE(format.channels, 10);
  chunk.writeUInt32LE(format.sampleRate, 12);
  chunk.writeUInt32LE(format.byteRate, 16);
  chunk.writeUInt16LE(format.blockBytes, 20);
  chunk.writeUInt16LE(format.bits, 22);
  return Buffer.concat([chunk, extension]);
}

function wav(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('RIFF\xff\xff\xff\xffWAVE', 'latin1'), ...parts]);
}

/** A chunk of samples that says it is longer, as if written to a pipe. */
function samples(bytes: number): Buffer {
  return Buffer.concat([Buffer.from('data\xff\xff\xff\xff', 'latin1'), Buffer.alloc(bytes)]);
}

function extensible(guid: Buffer): Buffer {
  return formatChunk({ ...PCM, format: 0xfffe }, Buffer.concat([Buffer.alloc(8), guid]));
}

describe('a WAV file', () => {
  test('is as long as a common program wrote it', () => {
    const seconds = audioSeconds(fixture('0.5s.wav')) as number;
    assert.ok(seconds >= 0.5 && seconds < 0.51, String(seconds));
  });

  const SECONDS: Readonly<Record<string, readonly [Buffer, number]>> = {
    'is as long as all that follows its header': [wav(formatChunk(PCM), samples(15_992)), 1],
    'is long if its sample rate is low': [
      wav(formatChunk({ ...PCM, sampleRate: 100, byteRate: 200 }), samples(15_992)),
      80,
    ],
    'is as long as its bytes per second say': [wav(formatChunk({ ...PCM, byteRate: 100 }), samples(15_992)), 160],
    'is as long as its block says': [wav(formatChunk({ ...PCM, blockBytes: 1 }), samples(15_992)), 2],
    'has a byte for a sample of µ-law, whatever it says': [wav(formatChunk({ ...PCM, format: 7 }), samples(15_992)), 2],
    'is as long as its bits say': [wav(formatChunk({ ...PCM, bits: 8 }), samples(15_992)), 2],
    'is as long as the slowest of its formats says': [
      wav(formatChunk(PCM), formatChunk({ ...PCM, sampleRate: 80, byteRate: 160 }), samples(15_968)),
      100,
    ],
    'may have other chunks before its format': [
      wav(Buffer.from('LIST\x04\0\0\0odd!'), formatChunk(PCM), samples(15_992)),
      1,
    ],
    'may have an extended format': [wav(extensible(PCM_GUID), samples(15_992 - 24)), 1],
  };
  for (const [name, [file, seconds]] of Object.entries(SECONDS)) {
    test(name, () => assert.equal(audioSeconds(file), seconds));
  }

  const guid = (change: (guid: Buffer) => void) => {
    const changed = Buffer.from(PCM_GUID);
    change(changed);
    return extensible(changed);
  };
  const UNKNOWN: Readonly<Record<string, Buffer>> = {
    'with a compressed format': wav(formatChunk({ ...PCM, format: 0x55 }), samples(99)),
    'with a compressed format within an extended one': wav(
      guid((bytes) => bytes.writeUInt16LE(0x55)),
      samples(99),
    ),
    'with an extended format of no family': wav(
      guid((bytes) => bytes.writeUInt8(1, 9)),
      samples(99),
    ),
    'with an extended format that is cut': wav(extensible(PCM_GUID)).subarray(0, 50),
    'without channels': wav(formatChunk({ ...PCM, channels: 0 }), samples(99)),
    'without a sample rate': wav(formatChunk({ ...PCM, sampleRate: 0 }), samples(99)),
    'without a format': wav(samples(99)),
    'with a format that is cut': wav(formatChunk(PCM)).subarray(0, 30),
    'with more formats than are compared': wav(...Array.from({ length: 20 }, () => formatChunk(PCM)), samples(99)),
  };
  for (const [name, file] of Object.entries(UNKNOWN)) {
    test(`${name} cannot be told`, () => assert.equal(audioSeconds(file), undefined));
  }
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
const SLOW = Buffer.concat([header(MPEG25, 1, 2), Buffer.alloc(68)]);
const FAST = Buffer.concat([header(MPEG1, 5, 2), Buffer.alloc(284)]);
/** What a byte counts at least when it is in no frame: 8 kbit/s. */
const LOWEST_RATE = 1_000;

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
          return Buffer.concat([header(version, rateIndex, sampleIndex, { padding }), Buffer.alloc(bytes - 4)]);
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
  /** A frame of 1,440 bytes that others hide in. */
  const large = (hidden: Buffer, layer = 1) =>
    Buffer.concat([header(MPEG1, 14, 2, { layer }), hidden, Buffer.alloc(1_436)]).subarray(0, 1_440);
  const HIDING: Readonly<Record<string, readonly [Buffer, number]>> = {
    'within a frame that is followed by none': [Buffer.concat([FAST.subarray(0, 4), repeated(SLOW, 200)]), 200],
    'within the last of many frames': [
      Buffer.concat([repeated(FAST, 20), large(repeated(small, 50)), Buffer.alloc(1)]),
      50,
    ],
    'behind frames of another kind': [Buffer.concat([repeated(FAST, 30), repeated(SLOW, 200)]), 200],
    'within frames of layer I, which few decode': [repeated(large(repeated(SLOW, 19), 3), 22), 19 * 22],
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
    test(`${name} cannot be told`, () => assert.equal(audioSeconds(file), undefined));
  }
});

test('the length of any other file cannot be told', () => {
  for (const start of ['fLaC', 'OggS', 'RIFX\0\0\0\0WAVE', '%PDF-', '']) {
    assert.equal(audioSeconds(Buffer.concat([Buffer.from(start), Buffer.alloc(99)])), undefined);
  }
});
