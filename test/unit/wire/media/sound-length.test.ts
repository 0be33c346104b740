/** A file is as long as a decoder makes it, or is not understood. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { adtsSeconds } from '../../../../src/wire/media/frames.ts';
import { opusPacketSeconds } from '../../../../src/wire/media/opus.ts';
import { soundLength } from '../../../../src/wire/media/sound-length.ts';
import {
  adtsFrame,
  box,
  element,
  INEXACT_SOUNDS,
  LYING_SOUNDS,
  m4a,
  OPUS_HEAD,
  oggOpus,
  oggPage,
  SHORT_PACKET,
  webm,
  webmBlock,
  webmCluster,
} from '../../../support/sound-files.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url));
const secondsOf = (bytes: Buffer) => soundLength(bytes)?.seconds;

/** Made with ffmpeg of a tone of a second and a half. */
const FILES: readonly (readonly [name: string, most: number])[] = [
  ['1.5s.mp3', 1.8],
  ['1.5s.flac', 1.55],
  ['1.5s-opus.ogg', 1.8],
  ['1.5s-vorbis.ogg', 1.65],
  ['1.5s.webm', 1.7],
  ['1.5s-streamed.webm', 1.7],
];

describe('the length of a file', () => {
  for (const [name, most] of FILES) {
    test(`is at least what it is, and hardly more: ${name}`, () => {
      const length = soundLength(fixture(name));
      const { seconds } = length ?? assert.fail();
      assert.ok(seconds >= 1.5 && seconds <= most, String(seconds));
      assert.equal(length?.isExact, true);
    });
  }

  for (const name of ['1.5s-fragmented.m4a', '40x30.png']) {
    test(`of ${name} is not understood`, () => assert.equal(soundLength(fixture(name)), undefined));
  }

  for (const { what, bytes, seconds } of LYING_SOUNDS) {
    test(`is no less than ffmpeg decodes, unless it is not understood: ${what}`, () => {
      assert.ok((secondsOf(bytes) ?? seconds) >= seconds - 0.005, String(secondsOf(bytes)));
    });
  }

  for (const { what, bytes } of INEXACT_SOUNDS) {
    test(`is not exact: ${what}`, () => assert.equal(soundLength(bytes)?.isExact, false));
  }

  /** Where a header states a length, and how a lie is written there. */
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
      assert.ok((secondsOf(bytes) ?? 0) >= 1.4, String(secondsOf(bytes)));
    });
  }

  test('grows with frames that are added to a FLAC', () => {
    const file = fixture('1.5s.flac');
    assert.ok((secondsOf(Buffer.concat([file, file])) ?? 0) >= 2.9);
  });
});

/** The content of the first box of this name. */
function boxAt(bytes: Buffer, name: string): number {
  return bytes.indexOf(name) + 4;
}

describe('an M4A', () => {
  const changed = (change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(fixture('1.5s.m4a'));
    change(bytes);
    return bytes;
  };

  test('of AAC may be as long as its bytes are frames of four bytes at the lowest rate, whatever its headers state', () => {
    const bytes = changed((bytes) => {
      for (const name of ['mvhd', 'mdhd']) bytes.writeUInt32BE(1, boxAt(bytes, name) + 16);
      bytes.writeUInt32BE(1, boxAt(bytes, 'stts') + 8);
      bytes.writeUInt16BE(65_535, boxAt(bytes, 'mp4a') + 24);
    });
    const stored = bytes.readUInt32BE(bytes.indexOf('mdat') - 4) - 8;
    for (const file of [bytes, fixture('1.5s.m4a')]) {
      const { seconds, isExact } = soundLength(file) ?? assert.fail();
      assert.ok(Math.abs(seconds - (stored / 4) * (1_024 / 7_350)) < 1, String(seconds));
      assert.equal(isExact, false);
    }
  });

  test('whose samples are the same bytes counts each of them', () => {
    const once = m4a({ samples: 100 });
    const often = Buffer.from(once);
    const sizes = boxAt(often, 'stsz');
    often.writeUInt32BE(100_000, sizes + 8);
    assert.equal(secondsOf(often), 1_000 * (secondsOf(once) ?? 0));
  });

  test('may have a picture beside its sound', () => {
    const sound = m4a({ samples: 100 });
    const track = sound.subarray(sound.indexOf('trak') - 4);
    const picture = Buffer.from(track);
    picture.write('vide', boxAt(picture, 'hdlr') + 8);
    picture.write('avc1', picture.indexOf('mp4a'));
    picture.write('free', picture.indexOf('esds'));
    assert.equal(secondsOf(m4a({ samples: 100, more: picture })), secondsOf(sound));
  });

  test('of ALAC is as long as its frames at the rate of its settings, or as its headers state', () => {
    const bytes = m4a({ alac: true, samples: 10, rate: 8_000 });
    assert.deepEqual(soundLength(bytes), { seconds: 5.12, isExact: true });
    bytes.writeUInt32BE(4_000, bytes.lastIndexOf('alac') + 28);
    assert.equal(secondsOf(bytes), 10.24);
    assert.equal(secondsOf(m4a({ alac: true, samples: 10, rate: 8_000, timescale: 1 })), 40_960);
    bytes.write('free', bytes.lastIndexOf('alac'));
    assert.equal(soundLength(bytes), undefined);
  });

  /** The same with the box that names the kind of its track behind the boxes of its tables. */
  function withLateKind(): Buffer {
    const bytes = m4a({ samples: 100 });
    const [kind, tables] = ['hdlr', 'minf'].map((name) => bytes.indexOf(name) - 4) as [number, number];
    const after = tables + bytes.readUInt32BE(tables);
    return Buffer.concat([
      bytes.subarray(0, kind),
      bytes.subarray(tables, after),
      bytes.subarray(kind, tables),
      bytes.subarray(after),
    ]);
  }

  const second = (name: string) => box('udta', box(name, Buffer.alloc(40)));
  for (const [what, bytes] of [
    ['that is played twice', m4a({ samples: 100, edits: 2 })],
    ['that is played slowly', m4a({ samples: 100, edits: 1, editRate: 0x8000 })],
    ['of another codec', changed((bytes) => bytes.write('samr', bytes.indexOf('mp4a')))],
    ['of MP3 that is called AAC', changed((bytes) => bytes.writeUInt8(0x6b, bytes.indexOf(Buffer.of(0x40, 0x15))))],
    ['of a kind of AAC with other frames', changed((bytes) => bytes.writeUInt8(0xb8, bytes.indexOf('esds') + 39))],
    ['without a description of its samples', changed((bytes) => bytes.write('free', bytes.indexOf('stsd')))],
    ['without times', changed((bytes) => bytes.write('free', bytes.indexOf('stts')))],
    ['without sizes', changed((bytes) => bytes.write('free', bytes.indexOf('stsz')))],
    ['whose samples take a unit of time each', m4a({ samples: 100, delta: 1 })],
    ['with two descriptions of its samples', changed((bytes) => bytes.writeUInt32BE(2, boxAt(bytes, 'stsd') + 4))],
    ['with fewer sizes than samples', changed((bytes) => bytes.writeUInt32BE(10_000, boxAt(bytes, 'stsz') + 8))],
    ['whose kind is not named', changed((bytes) => bytes.write('free', bytes.indexOf('hdlr')))],
    ['whose kind is named behind its tables', withLateKind()],
    ['with a second track of sound', m4a({ samples: 1, more: box('trak', box('mdia')) })],
    ...['stsz', 'stsd', 'elst', 'trak', 'esds', 'stz2', 'cmov'].map((name) => [
      `with another ${name} elsewhere`,
      m4a({ samples: 1, more: second(name) }),
    ]),
    ['with a track outside of its film', Buffer.concat([m4a({ samples: 1 }), box('trak')])],
    ['with a fragment', Buffer.concat([m4a({ samples: 1 }), box('moof', box('traf'))])],
    [
      'with a box that is longer than its film',
      changed((bytes) => bytes.writeUInt32BE(10_000, bytes.indexOf('udta') - 4)),
    ],
    ['of more boxes than sound has', Buffer.concat([m4a({ samples: 1 }), ...Array(10_000).fill(box('free'))])],
  ] satisfies (string | Buffer)[][] as [string, Buffer][]) {
    test(`${what} is not understood`, () => assert.equal(soundLength(bytes), undefined));
  }
});

describe('an Ogg', () => {
  const tone = [fixture('1.5s-opus.ogg'), fixture('1.5s-vorbis.ogg')];
  const pages = tone.flatMap((bytes) => tone.map((other) => Buffer.concat([bytes, other])));
  test('of several streams, one after another, is not understood', () => {
    for (const bytes of pages) assert.equal(soundLength(bytes), undefined);
  });

  test('whose codec begins again in the same stream is not understood', () => {
    assert.equal(soundLength(oggOpus(oggPage([OPUS_HEAD], { number: 2 }))), undefined);
  });

  test('of several streams at once is not understood', () => {
    assert.equal(soundLength(oggOpus(oggPage([SHORT_PACKET], { serial: 2 }))), undefined);
  });

  test('may contain the word by which its pages begin', () => {
    const packet = Buffer.concat([SHORT_PACKET, Buffer.from('OggS is no page'), Buffer.alloc(20)]);
    assert.ok(secondsOf(oggOpus(oggPage([packet], { number: 2 }))));
  });

  test('of another codec is not understood', () => {
    assert.equal(soundLength(oggPage([Buffer.from('Speex   1.2.1')], { flags: 2 })), undefined);
  });

  function everyPacket(seconds: number): Buffer {
    return oggOpus(oggPage(Array<Buffer>(Math.round(seconds / 0.0025)).fill(SHORT_PACKET), { number: 2 }));
  }
  test('is as long as its packets, and those of its head', () => {
    const [one, two] = [everyPacket(0.1), everyPacket(0.2)].map((bytes) => secondsOf(bytes) ?? 0);
    assert.ok(Math.abs((two as number) - (one as number) - 0.1) < 1e-9);
  });
});

describe('a WebM', () => {
  const cluster = webmCluster(webmBlock(SHORT_PACKET));
  test('with one track of Opus is understood', () => assert.equal(secondsOf(webm([cluster])), 0.12));
  for (const [what, bytes] of [
    ['with several packets in a block', webm([webmCluster(webmBlock(SHORT_PACKET, 0x84))])],
    ['of another codec', webm([cluster], element('86', Buffer.from('A_VORBIS')))],
    ['with two tracks', webm([element('ae'), cluster])],
    ['with a second list of tracks in padding', webm([cluster, element('ec', element('1654ae6b'))])],
  ] as const) {
    test(`${what} is not understood`, () => assert.equal(soundLength(bytes), undefined));
  }
});

test('AAC with headers is as long as its frames, and not understood with anything else', () => {
  const frames = Buffer.concat(Array<Buffer>(100).fill(adtsFrame(8_000)));
  assert.equal(adtsSeconds(frames)?.toFixed(6), '12.800000');
  assert.equal(adtsSeconds(Buffer.concat([frames, Buffer.of(0)])), undefined);
  assert.equal(adtsSeconds(frames.subarray(0, -1)), undefined);
});

test('a file with more pieces than hours of sound have is not understood, and nobody walks over the rest', () => {
  const emptyPage = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24, 0xff)])
    .fill(0, 4, 5)
    .fill(0, 14, 18)
    .fill(1, 14, 15);
  const ebml = Buffer.from('\x1a\x45\xdf\xa3\x80', 'latin1');
  for (const [start, piece, bytes] of [
    [fixture('1.5s.flac').subarray(0, 42), Buffer.of(0xff, 0xf8), 2_000_000],
    [oggOpus(), emptyPage, 1_000_000],
    [ebml, Buffer.of(0xe7, 0x80), 5_000_000],
  ] as const) {
    const file = Buffer.alloc(bytes, piece);
    start.copy(file);
    assert.equal(soundLength(file), undefined, start.toString('latin1', 0, 4));
  }
});

function everyPage(bytes: Buffer, change: (at: number) => void): void {
  for (let at = bytes.indexOf('OggS'); at >= 0; at = bytes.indexOf('OggS', at + 4)) change(at);
}

test('any bytes have a length or none, whatever they begin as', () => {
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
    .tuple(
      fc.constantFrom('', 'fLaC', 'OggS', '\x1a\x45\xdf\xa3', '\0\0\0\x18ftyp', 'RIFF\0\0\0\0WAVE'),
      fc.uint8Array({ maxLength: 400 }),
    )
    .map(([start, rest]) => Buffer.concat([Buffer.from(start, 'latin1'), rest]));
  fc.assert(
    fc.property(fc.oneof(mutated, random), (bytes) => {
      const { seconds } = soundLength(bytes) ?? { seconds: 1 };
      return seconds > 0 && seconds <= 1_000_000;
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
