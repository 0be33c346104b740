/** Files other than PDFs, sound and pictures whose bytes say little of what a host makes of them. */
import { crc32, deflateRawSync } from 'node:zlib';
import { textOf } from '../../hostile/texts.ts';
import { tokensIn } from '../../hostile/tokens.ts';
import { Random } from '../../support/random.ts';
import { fileOf } from './file.ts';

interface Member {
  readonly name: string;
  readonly text: string;
}

/** An archive in which each member is packed. */
function zip(members: readonly Member[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, text } of members) {
    const packed = deflateRawSync(text);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(crc32(text), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(Buffer.byteLength(text), 18);
    fields.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed]);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, place, Buffer.from(name)]));
    files.push(file);
    offset += file.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(members.length, 4);
  end.writeUInt16LE(members.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, listed, Buffer.from('PK\x05\x06'), end]);
}

const PROSE = textOf('prose', 2_000, new Random(5));
const COPIES = 800;
const NAMESPACE = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const DOCUMENT = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument';
const TYPES = 'http://schemas.openxmlformats.org/package/2006/content-types';
const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

function wordDocument(): string {
  const paragraph = `<w:p><w:r><w:t>${PROSE}</w:t></w:r></w:p>`;
  const bytes = zip([
    {
      name: '[Content_Types].xml',
      text: `<Types xmlns="${TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${WORD}.main+xml"/></Types>`,
    },
    {
      name: '_rels/.rels',
      text: `<Relationships xmlns="${RELATIONS}"><Relationship Id="a" Type="${DOCUMENT}" Target="word/document.xml"/></Relationships>`,
    },
    {
      name: 'word/document.xml',
      text: `<w:document xmlns:w="${NAMESPACE}"><w:body>${paragraph.repeat(COPIES)}</w:body></w:document>`,
    },
  ]);
  return fileOf(bytes, { textTokens: COPIES * tokensIn(PROSE) });
}

const DIGITS = textOf('digits', 60_000, new Random(6));
const IDEOGRAPHS = textOf('rare ideographs', 20_000, new Random(7));

/** Hosts look at ten minutes of it, whatever its bytes are. */
const FILM = fileOf(Buffer.from('\0\0\0\x18ftypmp42'.repeat(100), 'latin1'), { filmSeconds: 600 });

/** Files of texts, each with its media type. Hosts take the tokens of their text. */
export const TEXT_FILES: readonly (readonly [what: string, data: string, mediaType: string, name: string])[] = [
  ['a text file of digits', Buffer.from(DIGITS).toString('base64'), 'text/plain', 'a.txt'],
  ['a text file of rare ideographs', Buffer.from(IDEOGRAPHS).toString('base64'), 'text/markdown', 'a.md'],
  ['a Word document that is packed', wordDocument(), WORD, 'a.docx'],
];

export const FILM_IN_BASE64: readonly [what: string, data: string] = ['a film in base64', FILM];
