/** What an attachment is, by its content: what it is declared to be is only the sender's word. */
import { isUtf8 } from 'node:buffer';
import { beginsAsMp3 } from './mp3.ts';

export type MediaKind = 'png' | 'jpeg' | 'gif' | 'webp' | 'pdf' | 'wav' | 'mp3' | 'flac' | 'ogg' | 'text' | 'other';

/** PDF readers look for the header this far from the start of a file (Acrobat, PDFium, Poppler, MuPDF, pdf.js). */
const PDF_HEADER_BYTES = 1024;
/** `%PDF` alone is enough for PDFium; the other form is one that Acrobat takes. */
const PDF_HEADER = /%PDF|%!PS-Adobe-\d+\.\d+ PDF-/;
const LONGEST_PDF_HEADER = '%!PS-Adobe-NN.NN PDF-'.length;

/**
 * The kind of a file. A file that a PDF reader would open is a `pdf`, whatever else it is as well. A host that is told
 * another kind than this may read something else: then nothing here says what it sees.
 */
export function kindOf(bytes: Buffer): MediaKind {
  if (PDF_HEADER.test(bytes.toString('latin1', 0, PDF_HEADER_BYTES + LONGEST_PDF_HEADER))) return 'pdf';
  return kindByStart(bytes) ?? (isText(bytes) ? 'text' : 'other');
}

/** The image or sound that a file begins as. */
export function kindByStart(bytes: Buffer): Exclude<MediaKind, 'pdf' | 'text' | 'other'> | undefined {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (start.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'gif';
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'webp';
  if (start.startsWith('RIFF') && start.endsWith('WAVE')) return 'wav';
  if (start.startsWith('fLaC')) return 'flac';
  if (start.startsWith('OggS')) return 'ogg';
  return beginsAsMp3(bytes) ? 'mp3' : undefined;
}

const SOUNDS: ReadonlySet<MediaKind | undefined> = new Set(['wav', 'mp3', 'flac', 'ogg'] as const);
/** Matroska and WebM, AIFF, AU, CAF, AMR, Windows Media, Flash, AAC, MPEG and AVI. The others are kinds. */
const SOUND_SIGNATURE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /^(?:\x1aE\xdf\xa3|FORM....AIF|\.snd|caff|#!AMR|\x30\x26\xb2\x75|FLV|\xff[\xf0-\xf9]|\0\0\x01[\xba\xb3]|RIFF....AVI )/s;
/** MP4 and its relatives, but for those that hold images. */
const MP4_SIGNATURE = /^....ftyp(?!heic|heix|hevc|mif1|msf1|avif|avis)/s;

/** Whether a file begins as a format of audio or films. */
export function beginsAsSound(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, 12);
  return SOUNDS.has(kindByStart(bytes)) || SOUND_SIGNATURE.test(start) || MP4_SIGNATURE.test(start);
}

/** In UTF-8: those of ASCII but tab, newlines and form feed, and those beyond. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL_CHARACTER = /[\0-\x08\x0b\x0e-\x1f\x7f]|\xc2[\x80-\x9f]/;

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !CONTROL_CHARACTER.test(bytes.toString('latin1'));
}
