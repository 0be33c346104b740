/** The size of an image is known from its headers, or from the largest of those that a decoder may go by. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type ImageSize, imageSize } from '../../../../src/wire/media/image-size.ts';

const FIXTURES = new URL('fixtures/', import.meta.url);

function bytes(...parts: readonly (string | number | readonly number[])[]): Buffer {
  const asBytes = (part: string | number | readonly number[]) =>
    typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from([part].flat());
  return Buffer.concat(parts.map(asBytes));
}

const big16 = (value: number) => [value >> 8, value & 255];
const little16 = (value: number) => [value & 255, value >> 8];
const little24 = (value: number) => [value & 255, (value >> 8) & 255, value >> 16];
const big32 = (value: number) => [...big16(value >>> 16), ...big16(value & 0xffff)];
const little32 = (value: number) => big32(value).toReversed();

const chunk = (name: string, ...data: readonly number[]) => [
  ...big32(data.length),
  ...Buffer.from(name),
  ...data,
  ...big32(0),
];
const ihdr = (width: number, height: number) => chunk('IHDR', ...big32(width), ...big32(height), 8, 2, 0, 0, 0);
const png = (...chunks: readonly (readonly number[])[]) => bytes('\x89PNG\r\n\x1a\n', ...chunks);

const segment = (marker: number, ...data: readonly number[]) => [0xff, marker, ...big16(data.length + 2), ...data];
const frame = (width: number, height: number, marker = 0xc0) =>
  segment(marker, 8, ...big16(height), ...big16(width), 1, 1, 0x11, 0);
const SCAN = [...segment(0xda, 1, 1, 0, 0, 63, 0), 0x12, 0xff, 0x00, 0xff, 0xd0, 0x34];
const END = [0xff, 0xd9];
const jpeg = (...parts: readonly (readonly number[])[]) => bytes([0xff, 0xd8], ...parts);

const gifFrame = (left: number, top: number, width: number, height: number, flags = 0) => [
  0x2c,
  ...[left, top, width, height].flatMap(little16),
  flags,
  ...(flags === 0 ? [] : [0, 0, 0x3b, 0x3b, 0x3b, 0x3b]),
  2,
  ...[1, 0x44, 0],
];
const gif = (width: number, height: number, ...blocks: readonly (readonly number[])[]) =>
  bytes('GIF89a', little16(width), little16(height), [0x80, 0, 0], Array(6).fill(0), ...blocks, [0x3b]);
const EXTENSION = [0x21, 0xf9, 4, 0, 0, 0, 0, 0];

const webp = (...chunks: readonly (readonly [string, readonly number[]])[]) =>
  bytes(
    'RIFF',
    little32(0),
    'WEBP',
    ...chunks.flatMap(([name, data]) => [name, little32(data.length), data, data.length % 2 === 0 ? [] : [0]]),
  );
const PADDING = Array(16).fill(0);
const vp8 = (width: number, height: number) =>
  ['VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, ...little16(width), ...little16(height), ...PADDING]] as const;
const vp8l = (width: number, height: number) =>
  ['VP8L', [0x2f, ...little32((width - 1) | ((height - 1) << 14)), ...PADDING]] as const;
const vp8x = (width: number, height: number) =>
  ['VP8X', [0, 0, 0, 0, ...little24(width - 1), ...little24(height - 1), ...PADDING]] as const;
/** A frame of an animation, with the picture in it. */
const anmf = (left: number, top: number, width: number, height: number) =>
  [
    'ANMF',
    [
      ...[left / 2, top / 2, width - 1, height - 1].flatMap(little24),
      0,
      0,
      0,
      0,
      ...webp(vp8(width, height)).subarray(12),
    ],
  ] as const;

function largest(size: ImageSize | undefined): readonly [number, number] | undefined {
  return size && [size.width, size.height];
}

test('files that a common program wrote have the size in their names, and no other', () => {
  for (const name of readdirSync(FIXTURES).filter((file) => /^\d+x/.test(file))) {
    const size = imageSize(readFileSync(new URL(name, FIXTURES)));
    assert.deepEqual(largest(size), [40, 30], name);
    // In an animation a program writes only what has changed.
    assert.equal(size?.candidates !== undefined, name.includes('animated'), name);
  }
});

describe('the size is the one of', () => {
  const SIZES: Readonly<Record<string, readonly [Buffer, readonly [number, number]]>> = {
    'a PNG, after whose pixels no header counts': [png(ihdr(7, 9), chunk('IDAT'), ihdr(99, 99)), [7, 9]],
    'a PNG that is cut behind its header': [png(ihdr(7, 9)).subarray(0, 24), [7, 9]],
    'a JPEG with a thumbnail': [
      jpeg(segment(0xe1, ...jpeg(frame(160, 120), SCAN, END)), frame(7, 9), SCAN, END),
      [7, 9],
    ],
    'a JPEG with another behind it': [jpeg(frame(7, 9), SCAN, END, [...jpeg(frame(99, 99))]), [7, 9]],
    'a JPEG with bytes between its segments': [
      jpeg(segment(0xe0), [1, 2], [0xff, 0xff, 0xff], frame(7, 9).slice(1), SCAN),
      [7, 9],
    ],
    'a progressive JPEG of several scans': [jpeg(frame(7, 9, 0xc2), SCAN, SCAN, END), [7, 9]],
    'a GIF whose frames have the size of its screen': [
      gif(7, 9, EXTENSION, gifFrame(0, 0, 7, 9, 0x80), gifFrame(0, 0, 7, 9)),
      [7, 9],
    ],
    'a GIF whose screen has none': [gif(0, 0, gifFrame(0, 0, 7, 9)), [7, 9]],
    'a lossy WebP': [webp(vp8(7, 9)), [7, 9]],
    'a lossless WebP': [webp(vp8l(16_384, 9)), [16_384, 9]],
    'a WebP with a canvas': [webp(vp8x(7, 9), ['EXIF', [1, 2, 3]], vp8l(7, 9)), [7, 9]],
  };
  for (const [name, [file, size]] of Object.entries(SIZES)) {
    test(name, () => assert.deepEqual(imageSize(file), { width: size[0], height: size[1] }));
  }
});

describe('decoders may differ about', () => {
  const SIZES: Readonly<Record<string, readonly [Buffer, readonly (readonly [number, number])[]]>> = {
    'a PNG with two headers': [
      png(ihdr(7, 2), ihdr(1, 9), chunk('IDAT')),
      [
        [7, 2],
        [1, 9],
      ],
    ],
    'a JPEG with two frames': [
      jpeg(frame(7, 2), frame(1, 9, 0xc1), SCAN),
      [
        [7, 2],
        [1, 9],
      ],
    ],
    'a JPEG with a frame behind its scan': [
      jpeg(frame(7, 2), SCAN, frame(1, 9), END),
      [
        [7, 2],
        [1, 9],
      ],
    ],
    'a GIF with a smaller frame': [
      gif(7, 9, gifFrame(1, 1, 2, 3)),
      [
        [7, 9],
        [2, 3],
      ],
    ],
    'a GIF with a frame beyond its screen': [
      gif(7, 9, gifFrame(5, 0, 7, 9)),
      [
        [7, 9],
        [12, 9],
      ],
    ],
    'a GIF with a smaller frame behind one with colors': [
      gif(7, 9, gifFrame(0, 0, 7, 9, 0x80), gifFrame(0, 0, 2, 3)),
      [
        [7, 9],
        [2, 3],
      ],
    ],
    'a GIF with bytes between its frames': [
      gif(7, 9, gifFrame(0, 0, 7, 9), [1, 2], gifFrame(0, 0, 8, 1)),
      [
        [7, 9],
        [8, 1],
        [8, 9],
      ],
    ],
    'a WebP whose picture is larger than its canvas': [
      webp(vp8x(7, 9), vp8(70, 90)),
      [
        [7, 9],
        [70, 90],
      ],
    ],
    'a WebP with another picture behind an odd chunk': [
      webp(vp8x(7, 9), ['EXIF', [1, 2, 3]], vp8(70, 90)),
      [
        [7, 9],
        [70, 90],
      ],
    ],
    'a WebP with a frame at the side': [
      webp(vp8x(7, 9), anmf(4, 2, 6, 3)),
      [
        [7, 9],
        [6, 3],
        [10, 5],
      ],
    ],
  };
  for (const [name, [file, sizes]] of Object.entries(SIZES)) {
    test(name, () => {
      const size = imageSize(file);
      assert.deepEqual(
        size?.candidates?.map(({ width, height }) => [width, height]),
        sizes,
      );
      assert.deepEqual(largest(size), [
        Math.max(...sizes.map(([width]) => width)),
        Math.max(...sizes.map(([, height]) => height)),
      ]);
    });
  }
});

describe('the size cannot be told of', () => {
  const FILES: Readonly<Record<string, Buffer>> = {
    'a PNG that begins with another chunk': png(chunk('gAMA', 0), ihdr(7, 9)),
    'a PNG without pixels': png(ihdr(0, 9)),
    'a JPEG without a frame': jpeg(SCAN, END),
    'a JPEG whose height comes later': jpeg(frame(7, 0), SCAN, segment(0xdc, 0, 9), END),
    'a JPEG one of whose frames has no height': jpeg(frame(7, 0), frame(7, 9), SCAN),
    'a JPEG whose height is changed later': jpeg(frame(7, 9), SCAN, segment(0xdc, 99, 0), END),
    'a JPEG with a segment that some skip and others read': jpeg(segment(0xf0, ...frame(99, 99)), frame(7, 9), SCAN),
    'a JPEG within a JPEG': jpeg(frame(7, 9), SCAN, [0xff, 0xd8], frame(7, 9)),
    'a JPEG with a segment shorter than its length': jpeg([0xff, 0xe0, 0, 1], frame(7, 9)),
    'a JPEG with a frame that is cut': jpeg(frame(7, 9).slice(0, 8)),
    'a GIF without a frame': gif(7, 9, EXTENSION),
    'a GIF that is cut in its screen': gif(7, 9).subarray(0, 10),
    'a WebP that a decoder may enlarge': webp(vp8(7 | 0x4000, 9)),
    'a WebP whose picture is no key frame': webp(['VP8 ', [1, 0, 0, 0x9d, 0x01, 0x2a, 7, 0, 9, 0, ...PADDING]]),
    'a WebP that is cut': webp(vp8(7, 9), vp8x(7, 9)).subarray(0, -12),
    'a WebP whose picture has another signature': webp(vp8(7, 9), ['VP8L', [0x2e, ...PADDING]]),
    'a WebP without a picture': webp(['EXIF', [1]]),
    'a file of more sizes than are compared': gif(
      7,
      9,
      ...Array.from({ length: 300 }, (_, index) => gifFrame(0, 0, index + 1, 1)),
    ),
    'a file of more headers than are compared': png(...Array(10_000).fill(ihdr(1, 1)), ihdr(99, 99)),
    'a GIF of more blocks than are read': gif(7, 9, gifFrame(0, 0, 7, 9), Array(100_000).fill(1)),
    'a file of another kind': Buffer.from('%PDF-1.4'),
    'an empty file': Buffer.alloc(0),
  };
  for (const [name, file] of Object.entries(FILES)) test(name, () => assert.equal(imageSize(file), undefined));
});

test('whatever is changed or cut, a reading ends', () => {
  const files = readdirSync(FIXTURES)
    .filter((name) => /^\d+x/.test(name))
    .map((name) => readFileSync(new URL(name, FIXTURES)));
  fc.assert(
    fc.property(fc.constantFrom(...files), fc.nat(), fc.nat({ max: 255 }), fc.nat(), (file, at, byte, length) => {
      const changed = Buffer.from(file);
      changed[at % file.length] = byte;
      const size = imageSize(changed.subarray(0, 1 + (length % file.length)));
      assert.ok(size === undefined || (size.width > 0 && size.height > 0));
    }),
  );
});
