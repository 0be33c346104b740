/** Sound that is long for its bytes, in each of the ways that mislead whoever reckons its length by them. */
import { LYING_SOUNDS, quietFlac } from '../../support/sound-files.ts';
import { fileOf } from './file.ts';

/** Bytes of a sound here: no more than a body usually has. */
const BYTES = 100_000;
/** Nobody hears anything at so few samples a second, and hosts take it. */
const LOW_RATE = 100;

const chunk = (name: string, data: Buffer, said = data.length) => {
  const head = Buffer.alloc(8, name, 'latin1');
  head.writeUInt32LE(said, 4);
  return Buffer.concat([head, data]);
};

interface Wave {
  /** The format's number for a codec: 1 is plain samples. */
  readonly codec?: number;
  readonly rate?: number;
  /** Bytes a second, as the file says. */
  readonly bytesPerSecond?: number;
  readonly blockBytes?: number;
  readonly bits?: number;
  /** What only some codecs say. */
  readonly more?: readonly number[];
}

/** Says how the samples are to be read. */
function formatOf({
  codec = 1,
  rate = LOW_RATE,
  bytesPerSecond = rate,
  blockBytes = 1,
  bits = 8,
  more = [],
}: Wave = {}) {
  const format = Buffer.alloc(16 + (more.length > 0 ? 2 + 2 * more.length : 0));
  format.writeUInt16LE(codec, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(rate, 4);
  format.writeUInt32LE(bytesPerSecond, 8);
  format.writeUInt16LE(blockBytes, 12);
  format.writeUInt16LE(bits, 14);
  if (more.length > 0) format.writeUInt16LE(2 * more.length, 16);
  for (const [index, value] of more.entries()) format.writeUInt16LE(value, 18 + 2 * index);
  return chunk('fmt ', format);
}

const SILENCE = Buffer.alloc(BYTES, 128);

function wave(...chunks: readonly Buffer[]): Buffer {
  return chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]));
}

/** Frames of MPEG-2.5 at 8,000 samples a second: 576 samples each. `kbits`: 8 is the least. */
const FRAME_SAMPLES = 576;
const MP3_RATE = 8_000;
const INDEXES_BY_KBITS = { 8: 1, 160: 14 } as const;

function frame(kbits: keyof typeof INDEXES_BY_KBITS): Buffer {
  const data = Buffer.alloc((FRAME_SAMPLES / 8 / MP3_RATE) * kbits * 1_000);
  data.set([0xff, 0xe3, (INDEXES_BY_KBITS[kbits] << 4) | (2 << 2), 0xc0]);
  return data;
}

const SLOW_FRAMES = Math.floor(BYTES / frame(8).length);
const slow = Buffer.concat(Array(SLOW_FRAMES).fill(frame(8)));
const slowSeconds = (SLOW_FRAMES * FRAME_SAMPLES) / MP3_RATE;

const ADPCM_BLOCK = { bytes: 256, samples: 505 };
const adpcmSeconds = (Math.floor(BYTES / ADPCM_BLOCK.bytes) * ADPCM_BLOCK.samples) / LOW_RATE;

const flac = quietFlac(120);
const seconds = BYTES / LOW_RATE;
/** A list of texts, with what looks like a format of 48,000 samples a second in one of them. */
const MISLEADING = chunk('LIST', Buffer.concat([Buffer.from('INFO'), formatOf({ rate: 48_000 })]));

/** Each in base64, with the name that its format has in requests. */
export const SOUNDS: readonly (readonly [what: string, data: string, format: string])[] = [
  ['a WAV of 100 samples a second', fileOf(wave(formatOf(), chunk('data', SILENCE)), { seconds }), 'wav'],
  [
    'a WAV that says it has a million bytes a second',
    fileOf(wave(formatOf({ bytesPerSecond: 1_000_000 }), chunk('data', SILENCE)), { seconds }),
    'wav',
  ],
  [
    'a WAV that does not say how long it is',
    fileOf(wave(formatOf(), chunk('data', SILENCE, 0xffffffff)), { seconds }),
    'wav',
  ],
  ['a WAV that says it has no samples', fileOf(wave(formatOf(), chunk('data', SILENCE, 0)), { seconds }), 'wav'],
  [
    'a WAV with what looks like a format before its own',
    fileOf(wave(MISLEADING, formatOf(), chunk('data', SILENCE)), { seconds }),
    'wav',
  ],
  [
    'a WAV with two samples in a byte',
    fileOf(
      wave(
        formatOf({ codec: 0x11, bits: 4, blockBytes: ADPCM_BLOCK.bytes, more: [ADPCM_BLOCK.samples] }),
        chunk('data', Buffer.alloc(BYTES - (BYTES % ADPCM_BLOCK.bytes))),
      ),
      { seconds: adpcmSeconds },
    ),
    'wav',
  ],
  [
    'a WAV that holds an MP3',
    fileOf(
      wave(
        formatOf({ codec: 0x55, rate: MP3_RATE, bytesPerSecond: 20_000, bits: 0, more: [1, 2, 0, 72, 1, 0] }),
        chunk('data', slow),
      ),
      { seconds: slowSeconds },
    ),
    'wav',
  ],
  ['an MP3 of 8 kbit/s', fileOf(slow, { seconds: slowSeconds }), 'mp3'],
  [
    'an MP3 whose first frame has 160 kbit/s and all others 8',
    fileOf(Buffer.concat([frame(160), slow]), { seconds: slowSeconds }),
    'mp3',
  ],
  ['a FLAC of silence', fileOf(flac.bytes, flac), 'flac'],
  ['a FLAC of silence that says it is a WAV', fileOf(Buffer.concat([flac.bytes, Buffer.alloc(1)]), flac), 'wav'],
  ...LYING_SOUNDS.map(({ what, bytes, seconds }) => [what, fileOf(bytes, { seconds }), 'wav'] as const),
];
