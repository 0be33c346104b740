/** What an attachment is, by its content: what it is declared to be is only the sender's word. */
import { isUtf8 } from 'node:buffer';
import { beginsAsMp3 } from './mp3.ts';

export type MediaKind = 'png' | 'jpeg' | 'gif' | 'webp' | 'pdf' | 'wav' | 'mp3' | 'text' | 'other';

/** PDF readers look for the header this far from the start of a file (Acrobat, PDFium, Poppler, MuPDF, pdf.js). */
const PDF_HEADER_BYTES = 1024;
/** `%PDF` alone is enough for PDFium; the other form is one that Acrobat takes. */
const PDF_HEADER = /%PDF|%!PS-Adobe-\d+\.\d+ PDF-/;
const LONGEST_PDF_HEADER = '%!PS-Adobe-NN.NN PDF-'.length;

/**
 * The kind of a file. A file that a PDF reader would open is a `pdf`, whatever else it is as well. A host that is told another
 * kind than this may read something else: then nothing here says what it sees.
 */
export function kindOf(bytes: Buffer): MediaKind {
  if (PDF_HEADER.test(bytes.toString('latin1', 0, PDF_HEADER_BYTES + LONGEST_PDF_HEADER))) return 'pdf';
  return kindByStart(bytes) ?? (isText(bytes) ? 'text' : 'other');
}

/** The image or sound that a file begins as. */
export function kindByStart(bytes: Buffer): 'png' | 'jpeg' | 'gif' | 'webp' | 'wav' | 'mp3' | undefined {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (start.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'gif';
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'webp';
  if (start.startsWith('RIFF') && start.endsWith('WAVE')) return 'wav';
  return beginsAsMp3(bytes) ? 'mp3' : undefined;
}

const [TAB, FORM_FEED, RETURN, DELETE] = [0x09, 0x0c, 0x0d, 0x7f];
const [NEWLINE, SPACE] = [0x0a, 0x20];
/** In UTF-8 the control characters beyond ASCII are this byte and one below the other. */
const [CONTROL_LEAD, CONTROL_END] = [0xc2, 0xa0];

/** Valid UTF-8 without control characters other than tab, newlines and form feed. */
function isText(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte >= SPACE && byte < DELETE) continue;
    if (byte === DELETE || (byte === CONTROL_LEAD && (bytes[at + 1] as number) < CONTROL_END)) return false;
    if (byte < SPACE && byte !== NEWLINE && byte !== RETURN && byte !== TAB && byte !== FORM_FEED) return false;
  }
  return true;
}
