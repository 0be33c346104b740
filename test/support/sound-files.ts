/** Writes files of sound byte by byte: honest ones, and those whose headers and tables misstate how long they are. */

import { readFileSync } from 'node:fs';

const ascii = (text: string) => Buffer.from(text, 'latin1');

function little(bytes: number, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
}

function big(bytes: number, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

const repeated = (bytes: Buffer, times: number) => Buffer.concat(Array<Buffer>(times).fill(bytes));

/** A chunk of a RIFF file. */
export function chunk(name: string, content: Buffer, declared = content.length): Buffer {
  return Buffer.concat([ascii(name), little(4, declared), content]);
}

export interface WavFormat {
  readonly tag?: number;
  readonly channels?: number;
  readonly rate?: number;
  readonly byteRate?: number;
  readonly blockBytes?: number;
  readonly bits?: number;
  /** Of the extensible format. */
  readonly validBits?: number;
  readonly extension?: Buffer;
}

const PCM_GUID = Buffer.from('0100000000001000800000aa00389b71', 'hex');

export function formatChunk({
  tag = 1,
  channels = 1,
  rate = 8_000,
  bits = 16,
  blockBytes = (channels * bits) / 8,
  byteRate = rate * blockBytes,
  validBits,
  extension = validBits === undefined
    ? Buffer.alloc(0)
    : Buffer.concat([little(2, 22), little(2, validBits), Buffer.alloc(4), PCM_GUID]),
}: WavFormat): Buffer {
  const fixed = [little(2, tag), little(2, channels), little(4, rate), little(4, byteRate), little(2, blockBytes)];
  return chunk('fmt ', Buffer.concat([...fixed, little(2, bits), extension]));
}

export function wav(format: WavFormat, samples: Buffer): Buffer {
  return chunk('RIFF', Buffer.concat([ascii('WAVE'), formatChunk(format), chunk('data', samples)]));
}

/** A frame of AAC-LC in one channel without a single band: silence in four bytes. */
const SILENT_AAC = Buffer.of(0, 0, 0, 7);
const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000];

/** A silent frame with the header of a stream of AAC. */
export function adtsFrame(rate: number): Buffer {
  const length = 7 + SILENT_AAC.length;
  const index = AAC_RATES.indexOf(rate);
  const head = [0xff, 0xf1, 0x40 | (index << 2), 0x40, length >> 3, ((length & 7) << 5) | 0x1f, 0xfc];
  return Buffer.concat([Buffer.from(head), SILENT_AAC]);
}

/** A frame of MPEG 2.5, layer III, at 8 kbit/s and 8,000 samples a second: 72 ms in 72 bytes. */
export const MP3_FRAME = Buffer.concat([Buffer.of(0xff, 0xe3, 0x18, 0xc0), Buffer.alloc(68)]);

/** A frame of AC-3 as ffmpeg writes silence: 32 ms in 128 bytes. */
const AC3_FRAME = Buffer.from(
  '0b7796b900402f842903fe757cf9f3e7cf9f3e7cf9f3e7cf9f3e7cf9f3e7cf8cbfba90000036b5ad6b5ad6b5ad6b5a94000000dad6b5ad6b5ad6b5ad6a5000000' +
    '36b5ad6b5ad6b5ad6b5a94000000dad6b5ad6b5ad6b5ad6a500000036b5ad6b5ad6b5ad6b5a94000000dad6b5ad6b5ad6b5ad6a40000000000000000000b2b0',
  'hex',
);

export interface M4aOptions {
  readonly samples?: number;
  readonly sample?: Buffer;
  readonly rate?: number;
  /** Units a second in the headers; those of the rate unless they differ. */
  readonly timescale?: number;
  readonly handler?: string;
  /** Entries of the edit list, each of the whole track. */
  readonly edits?: number;
  readonly editRate?: number;
  readonly alac?: boolean;
  /** Boxes behind those of the track. */
  readonly more?: Buffer;
  readonly delta?: number;
}

export function box(type: string, ...content: readonly Buffer[]): Buffer {
  const length = 8 + content.reduce((sum, each) => sum + each.length, 0);
  return Buffer.concat([big(4, length), ascii(type), ...content]);
}

const full = (type: string, ...content: readonly Buffer[]) => box(type, big(4, 0), ...content);
const numbers = (...values: readonly number[]) => Buffer.concat(values.map((value) => big(4, value)));
const descriptor = (tag: number, content: Buffer) => Buffer.concat([Buffer.of(tag, content.length), content]);

function aacEntry(rate: number): Buffer {
  const configuration = big(2, (2 << 11) | (AAC_RATES.indexOf(rate) << 7) | (1 << 3));
  const decoder = Buffer.concat([Buffer.of(0x40, 0x15), Buffer.alloc(11), descriptor(5, configuration)]);
  const stream = Buffer.concat([Buffer.of(0, 1, 0), descriptor(4, decoder), descriptor(6, Buffer.of(2))]);
  return box('mp4a', soundEntry(rate), full('esds', descriptor(3, stream)));
}

/** Samples in a frame of ALAC. */
const ALAC_FRAME = 4_096;
/** A frame of ALAC in one channel, all of whose samples are 0. */
const SILENT_ALAC = Buffer.from('00000000000f080100000000000000ff87fff0', 'hex');

function alacEntry(rate: number): Buffer {
  const sizes = Buffer.concat([big(4, ALAC_FRAME), Buffer.of(0, 16, 40, 10, 14, 1), big(2, 255)]);
  return box('alac', soundEntry(rate), full('alac', sizes, numbers(0, 0, rate)));
}

function soundEntry(rate: number): Buffer {
  return Buffer.concat([
    big(6, 0),
    big(2, 1),
    Buffer.alloc(8),
    big(2, 1),
    big(2, 16),
    big(4, 0),
    big(4, (rate % 65_536) * 65_536),
  ]);
}

/** One track of sound, all of whose samples are the same. */
export function m4a({
  alac = false,
  samples = 1,
  sample = alac ? SILENT_ALAC : SILENT_AAC,
  rate = 44_100,
  timescale = rate,
  handler = 'soun',
  edits = 0,
  editRate = 0x10000,
  more = Buffer.alloc(0),
  delta = alac ? ALAC_FRAME : 1_024,
}: M4aOptions): Buffer {
  const type = box('ftyp', ascii('M4A \0\0\0\0isom'));
  const units = samples * delta;
  const tables = box(
    'stbl',
    full('stsd', numbers(1), alac ? alacEntry(rate) : aacEntry(rate)),
    full('stts', numbers(1, samples, delta)),
    full('stsc', numbers(1, 1, samples, 1)),
    full('stsz', numbers(sample.length, samples)),
    full('stco', numbers(1, type.length + 8)),
  );
  const media = box(
    'mdia',
    full('mdhd', numbers(0, 0, timescale, units, 0)),
    full('hdlr', numbers(0), ascii(handler), Buffer.alloc(13)),
    box('minf', full('smhd', numbers(0)), box('dinf', full('dref', numbers(1), full('url '))), tables),
  );
  const list = Array.from({ length: edits }, () => numbers(units, 0, editRate));
  const edit = edits === 0 ? Buffer.alloc(0) : box('edts', full('elst', numbers(edits), ...list));
  const track = box('trak', full('tkhd', numbers(0, 0, 1, 0, units), Buffer.alloc(60)), edit, media);
  const movie = box('moov', full('mvhd', numbers(0, 0, timescale, units), Buffer.alloc(80)), track, more);
  return Buffer.concat([type, box('mdat', repeated(sample, samples)), movie]);
}

/** Bytes from the start of a fragment to its samples. */
const FRAGMENT_HEAD_BYTES = 92;
const FRAMES_PER_FRAGMENT = 100;

/** Silence of AAC in fragments. */
function fragmentedM4a(fragments: number, rate: number): Buffer {
  const defaults = box('mvex', full('trex', numbers(1, 1, 1_024, SILENT_AAC.length, 0)));
  const [isFromStart, hasOffset] = [0x2_00_00, 1];
  const fragment = (_: unknown, index: number) => {
    const track = box('tfhd', numbers(isFromStart, 1));
    const time = full('tfdt', numbers(index * FRAMES_PER_FRAGMENT * 1_024));
    const run = box('trun', numbers(hasOffset, FRAMES_PER_FRAGMENT, FRAGMENT_HEAD_BYTES));
    const head = box('moof', full('mfhd', numbers(index + 1)), box('traf', track, time, run));
    return Buffer.concat([head, box('mdat', repeated(SILENT_AAC, FRAMES_PER_FRAGMENT))]);
  };
  return Buffer.concat([m4a({ samples: 0, rate, more: defaults }), ...Array.from({ length: fragments }, fragment)]);
}

const OGG_CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc < 0 ? 0x04c11db7 : 0);
  return crc >>> 0;
});

export interface PageOptions {
  readonly serial?: number;
  readonly number?: number;
  readonly flags?: number;
  readonly isBroken?: boolean;
}

/** A page of an Ogg file with whole packets. */
export function oggPage(
  packets: readonly Buffer[],
  { serial = 1, number = 0, flags = 0, isBroken = false }: PageOptions = {},
): Buffer {
  const table = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255]);
  const head = Buffer.concat([Buffer.of(0, flags), Buffer.alloc(8), little(4, serial), little(4, number)]);
  const page = Buffer.concat([ascii('OggS'), head, Buffer.alloc(4), Buffer.of(table.length, ...table), ...packets]);
  return sealed(page, isBroken);
}

/** With another checksum: that of its bytes, unless it is to be broken. */
function sealed(page: Buffer, isBroken = false): Buffer {
  page.writeUInt32LE(0, 22);
  let crc = isBroken ? 1 : 0;
  for (const byte of page) crc = ((crc << 8) ^ (OGG_CRC[((crc >>> 24) ^ byte) & 255] as number)) >>> 0;
  page.writeUInt32LE(crc, 22);
  return page;
}

/** A Vorbis that goes on at a twentieth of its rate in the same stream. `bytes`: one of ordinary length. */
function slowingVorbis(bytes: Buffer): Buffer {
  const slow = Buffer.from(bytes);
  slow.writeUInt32LE(2_000, slow.indexOf('\x01vorbis', 'latin1') + 12);
  const next = slow.indexOf('OggS', 4);
  return Buffer.concat([bytes, sealed(slow.subarray(0, next)), slow.subarray(next)]);
}

export const OPUS_HEAD = Buffer.concat([ascii('OpusHead'), Buffer.of(1, 1, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0)]);
const OPUS_TAGS = Buffer.concat([ascii('OpusTags'), little(4, 0), little(4, 0)]);
/** Two empty frames of 60 ms, and one of 2.5 ms. */
export const [LONG_PACKET, SHORT_PACKET] = [Buffer.of(0x5b, 2), Buffer.of(0x80)];

export function oggOpus(...pages: readonly Buffer[]): Buffer {
  return Buffer.concat([oggPage([OPUS_HEAD], { flags: 2 }), oggPage([OPUS_TAGS], { number: 1 }), ...pages]);
}

/** An element of a WebM file. `id`: in hexadecimal. */
export function element(id: string, ...content: readonly Buffer[]): Buffer {
  const length = content.reduce((sum, each) => sum + each.length, 0);
  return Buffer.concat([Buffer.from(id, 'hex'), big(4, 0x10000000 + length), ...content]);
}

const byteElement = (id: string, value: number) => element(id, Buffer.of(value));

/** A block with one packet. */
export function webmBlock(packet: Buffer, flags = 0x80): Buffer {
  return element('a3', Buffer.of(0x81, 0, 0, flags), packet);
}

export function webmCluster(...blocks: readonly Buffer[]): Buffer {
  return element('1f43b675', byteElement('e7', 0), ...blocks);
}

/** A WebM with one track of Opus. `more`: further elements of that track. */
export function webm(clusters: readonly Buffer[], more: Buffer = Buffer.alloc(0)): Buffer {
  const track = element(
    'ae',
    ...[byteElement('d7', 1), byteElement('73c5', 1), byteElement('83', 2), element('86', ascii('A_OPUS'))],
    element('63a2', OPUS_HEAD),
    element('e1', byteElement('9f', 1)),
    more,
  );
  const head = element('1a45dfa3', byteElement('4287', 4), byteElement('4285', 2), element('4282', ascii('webm')));
  return Buffer.concat([head, element('18538067', element('1654ae6b', track), ...clusters)]);
}

/** A track whose blocks lack these bytes at their start: readers put them there. */
function strippedHeader(bytes: Buffer): Buffer {
  const compression = element('5034', byteElement('4254', 3), element('4255', bytes));
  const encoding = element('6240', byteElement('5031', 0), byteElement('5032', 1), byteElement('5033', 0), compression);
  return element('6d80', encoding);
}

function crc(data: Buffer, bits: 8 | 16, polynomial: number): number {
  const top = 1 << (bits - 1);
  const mask = 2 ** bits - 1;
  let value = 0;
  for (const byte of data) {
    value ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) value = ((value << 1) ^ ((value & top) === 0 ? 0 : polynomial)) & mask;
  }
  return value;
}

const [FLAC_RATE, FLAC_SAMPLES] = [8_000, 65_535];

/** Eight seconds of one sample that never changes, in thirteen bytes. */
function flacFrame(number: number): Buffer {
  const [sizeFollows, rateIs8000] = [0x70, 0x04];
  const head = Buffer.concat([Buffer.of(0xff, 0xf8, sizeFollows | rateIs8000, 0x08, number), big(2, FLAC_SAMPLES - 1)]);
  const body = Buffer.concat([head, Buffer.of(crc(head, 8, 0x07), 0, 0, 0)]);
  return Buffer.concat([body, big(2, crc(body, 16, 0x8005))]);
}

export function quietFlac(frames: number): Pick<SoundFile, 'bytes' | 'seconds'> {
  const info = Buffer.alloc(34);
  info.writeUInt16BE(FLAC_SAMPLES, 0);
  info.writeUInt16BE(FLAC_SAMPLES, 2);
  info.writeBigUInt64BE((BigInt(FLAC_RATE) << 44n) | (15n << 36n) | BigInt(FLAC_SAMPLES * frames), 10);
  const head = Buffer.concat([ascii('fLaC'), Buffer.of(0x80, 0, 0, info.length), info]);
  const bytes = Buffer.concat([head, ...Array.from({ length: frames }, (_, index) => flacFrame(index))]);
  return { bytes, seconds: (FLAC_SAMPLES * frames) / FLAC_RATE };
}

/** A file, and how many seconds ffmpeg 5.1 decodes of it. */
export interface SoundFile {
  readonly what: string;
  readonly bytes: Buffer;
  readonly seconds: number;
}

const adpcm: WavFormat = { tag: 0x11, rate: 1, bits: 4, blockBytes: 256, extension: Buffer.of(2, 0, 0xf9, 1) };
const loud: WavFormat = { channels: 2, rate: 96_000 };
const silence = (bytes: number) => Buffer.alloc(bytes, 128);
const au = Buffer.concat([ascii('.snd'), numbers(24, 6_000, 2, 1, 1), Buffer.alloc(6_000)]);
/** G.729 behind the header of a WAV of 32 bytes a sample, as a dictation machine writes it. */
const act = Buffer.concat([
  wav({ channels: 8, bits: 32 }, Buffer.alloc(0)),
  Buffer.alloc(212),
  Buffer.of(0x84),
  Buffer.alloc(255),
  repeated(Buffer.from(Array.from({ length: 22 }, (_, index) => index)), 1_000),
]);
/** Frames of 320 kbit/s, the first of which begins the film of an M4A. */
function mp3AndM4a(): SoundFile['bytes'] {
  const film = m4a({ samples: 2_584, edits: 20 });
  const boxes = film.subarray(film.indexOf('moov'));
  const header = Buffer.of(0xff, 0xfb, 0xe4, 0xc4);
  const samples = film.subarray(film.indexOf('mdat') + 4, film.indexOf('moov') - 4);
  const bytes = Buffer.concat([header, boxes, samples, Buffer.alloc(960 * 11)]);
  bytes.writeUInt32BE(header.length + boxes.length, bytes.indexOf('stco') + 12);
  for (let at = 960; at < bytes.length; at += 960) header.copy(bytes, at);
  return bytes;
}

/** Frames of 320 kbit/s that are a module of trackers as well. `write`: writes its header and pattern, the rest of which is 0. */
function mp3AndModule(patternAt: number, write: (bytes: Buffer) => void): SoundFile['bytes'] {
  const bytes = Buffer.alloc(960 * 14);
  for (let at = 0; at < bytes.length; at += 960) bytes.writeUInt32BE(0xff_fb_e4_c4, at);
  // The length and the volume of the first sample.
  bytes.writeUInt16BE(8, 42);
  bytes.writeUInt8(64, 45);
  bytes.writeUInt16BE(8, 48);
  // A note, and a row that takes 31 ticks.
  bytes.writeUInt32BE(0x01_ac_10_00, patternAt);
  bytes.writeUInt16BE(0x0f_1f, patternAt + 6);
  write(bytes);
  return bytes;
}

const module31 = mp3AndModule(1_084, (bytes) => {
  bytes.writeUInt16BE((128 << 8) | 0x7f, 950);
  bytes.write('M.K.', 1_080);
  bytes.writeUInt16BE(0x0f_20, 1_094);
});
const module15 = mp3AndModule(600, (bytes) => bytes.writeUInt16BE((128 << 8) | 0x78, 470));

/** A FLAC without a least size of its blocks, with a module of trackers in its padding. */
function flacAndModule(): SoundFile['bytes'] {
  const { bytes } = quietFlac(2);
  const head = Buffer.from(bytes.subarray(0, 42));
  head.writeUInt8(0, 4);
  head.writeUInt16BE(0, 8);
  const padding = Buffer.alloc(2_130);
  padding.writeUInt32BE(0x81_00_00_00 + padding.length - 4, 0);
  const file = Buffer.concat([head, padding, bytes.subarray(42)]);
  // The second sample: the first one is within the header.
  file.writeUInt16BE(8, 72);
  file.writeUInt8(64, 75);
  file.writeUInt16BE(8, 78);
  file.writeUInt16BE((128 << 8) | 0x7f, 950);
  file.write('M.K.', 1_080);
  file.writeUInt32BE(0x01_ac_20_00, 1_084);
  file.writeUInt16BE(0x0f_1f, 1_090);
  file.writeUInt16BE(0x0f_20, 1_094);
  return file;
}

const fixture = (name: string) => readFileSync(new URL(`../unit/wire/media/fixtures/${name}`, import.meta.url));
const manyBlocks = Array<Buffer>(200).fill(webmBlock(LONG_PACKET));

/** Files that last longer than a reader of their headers takes them to. */
export const LYING_SOUNDS: readonly SoundFile[] = [
  { what: 'an M4A that plays its 60 seconds 100 times', bytes: m4a({ samples: 2_584, edits: 100 }), seconds: 6_000.04 },
  {
    what: 'an M4A whose sound is called metadata',
    bytes: m4a({ samples: 12_900, handler: 'meta', timescale: 100_000_000 }),
    seconds: 299.54,
  },
  { what: 'an M4A in fragments, quiet and honest', bytes: fragmentedM4a(47, 8_000), seconds: 601.6 },
  { what: 'an M4A of ALAC, quiet and honest', bytes: m4a({ alac: true, samples: 586, rate: 8_000 }), seconds: 300.03 },
  { what: 'a WAV of ADPCM with one sample a second', bytes: wav(adpcm, Buffer.alloc(3_072)), seconds: 6_060 },
  { what: 'an AU with one sample a second', bytes: au, seconds: 6_000 },
  { what: 'a WAV whose samples are an MP3', bytes: wav(loud, repeated(MP3_FRAME, 1_400)), seconds: 100.8 },
  { what: 'a WAV whose samples are AAC', bytes: wav(loud, repeated(adtsFrame(8_000), 5_000)), seconds: 640 },
  { what: 'a WAV whose samples are AC-3', bytes: wav(loud, repeated(AC3_FRAME, 1_000)), seconds: 32 },
  { what: 'a WAV that a dictation machine wrote', bytes: act, seconds: 21.91 },
  {
    what: 'a WAV with eight valid bits of 64',
    bytes: wav({ tag: 0xfffe, bits: 64, validBits: 8 }, silence(100_000)),
    seconds: 12.5,
  },
  { what: 'an MP3 that is an M4A as well', bytes: mp3AndM4a(), seconds: 1_194.9 },
  { what: 'an MP3 that is a module of trackers as well', bytes: module31, seconds: 1_395 },
  { what: 'an MP3 that is a module of 15 samples as well', bytes: module15, seconds: 2_457.6 },
  { what: 'a FLAC that is a module of trackers as well', bytes: flacAndModule(), seconds: 19_840 },
  {
    what: 'an Ogg that goes on at a lower rate',
    bytes: slowingVorbis(fixture('1.5s-vorbis.ogg')),
    seconds: 18.29,
  },
  {
    what: 'an Ogg with pages in a broken page',
    bytes: oggOpus(
      oggPage([SHORT_PACKET], { number: 2 }),
      oggPage([oggPage(Array<Buffer>(100).fill(LONG_PACKET), { number: 3 })], { number: 3, isBroken: true }),
    ),
    seconds: 12,
  },
  {
    what: 'a WebM that leaves out the start of each packet',
    bytes: webm([webmCluster(...Array<Buffer>(200).fill(webmBlock(SHORT_PACKET)))], strippedHeader(Buffer.of(0x58))),
    seconds: 12,
  },
  {
    what: 'a WebM with a cluster in padding, behind an element that is broken',
    bytes: webm([
      element('1f43b675', element('e7', Buffer.alloc(9)), webmBlock(SHORT_PACKET)),
      element('ec', webmCluster(...manyBlocks)),
    ]),
    seconds: 24,
  },
];

/** Files whose tables are no proof of their length: ffmpeg decodes more than a frame of some samples, or at another rate. */
export const INEXACT_SOUNDS: readonly SoundFile[] = [
  {
    what: 'an M4A with 180 frames of AAC in each sample',
    bytes: m4a({ samples: 100, sample: repeated(SILENT_AAC, 180), rate: 8_000 }),
    seconds: 2_304,
  },
  {
    what: 'an M4A whose samples name a lower rate than its tables',
    bytes: m4a({ samples: 100, sample: adtsFrame(8_000), rate: 96_000 }),
    seconds: 12.8,
  },
];
