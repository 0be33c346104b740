/** Pictures of one colour, which are large in pixels and small in bytes. */
import { crc32, deflateSync } from 'node:zlib';
import { fileOf } from './file.ts';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** A PNG in base64, with one bit for a pixel. */
export function picture(width: number, height: number): string {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 1;
  const rows = Buffer.alloc(height * (1 + Math.ceil(width / 8)));
  const chunks = [chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return fileOf(Buffer.concat([SIGNATURE, ...chunks]), { picture: { width, height } });
}

/** By how many tiles of 512 pixels, or patches of 28, hosts make of them. */
export const PICTURES: readonly (readonly [what: string, data: string])[] = [
  ['a picture of 1 by 1 pixel', picture(1, 1)],
  ['a picture of 1,536 by 768 pixels', picture(1_536, 768)],
  ['a picture of 2,000 by 2,000 pixels', picture(2_000, 2_000)],
  ['a picture of 4,096 by 1,536 pixels', picture(4_096, 1_536)],
];

/** In 8 KB. */
export const VAST_PICTURE: readonly [what: string, data: string] = [
  'a picture of 8,000 by 8,000 pixels',
  picture(8_000, 8_000),
];
