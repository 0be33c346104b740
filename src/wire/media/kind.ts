/** Detects the type of an attachment from its content, since senders may declare a wrong one. */
import { isUtf8 } from 'node:buffer';
import { beginsAsMp3 } from './mp3.ts';

export type MediaKind = 'png' | 'jpeg' | 'gif' | 'webp' | 'pdf' | 'wav' | 'mp3' | 'flac' | 'ogg' | 'text' | 'other';

/** PDF readers search for the header this far from the start of a file (Acrobat, PDFium, Poppler, MuPDF, pdf.js). */
const PDF_HEADER_BYTES = 1024;
/** PDFium accepts `%PDF` alone, and Acrobat accepts the other form. */
const PDF_HEADER = /%PDF|%!PS-Adobe-\d+\.\d+ PDF-/;
const LONGEST_PDF_HEADER = '%!PS-Adobe-NN.NN PDF-'.length;

/**
 * Returns the kind of a file. Any file that a PDF reader would open is a `pdf`, even if it also is another kind. A host
 * that receives another declared kind may read the file differently, which this does not cover.
 */
export function kindOf(bytes: Buffer): MediaKind {
  if (PDF_HEADER.test(bytes.toString('latin1', 0, PDF_HEADER_BYTES + LONGEST_PDF_HEADER))) return 'pdf';
  return kindByStart(bytes) ?? (isText(bytes) ? 'text' : 'other');
}

/** Returns the image or audio format by the first bytes. */
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
/** Matroska and WebM, AIFF, AU, CAF, AMR, Windows Media, Flash, AAC, MPEG and AVI. MediaKind has the others. */
const SOUND_SIGNATURE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them.
  /^(?:\x1aE\xdf\xa3|FORM....AIF|\.snd|caff|#!AMR|\x30\x26\xb2\x75|FLV|\xff[\xf0-\xf9]|\0\0\x01[\xba\xb3]|RIFF....AVI )/s;
/** MP4 and related formats, except those for images. */
const MP4_SIGNATURE = /^....ftyp(?!heic|heix|hevc|mif1|msf1|avif|avis)/s;

/** Whether a file begins as an audio or video format. */
export function beginsAsSound(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, 12);
  return SOUNDS.has(kindByStart(bytes)) || SOUND_SIGNATURE.test(start) || MP4_SIGNATURE.test(start);
}

/** Control characters in UTF-8: of ASCII except tab, newlines and form feed, and C1. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them.
const CONTROL_CHARACTER = /[\0-\x08\x0b\x0e-\x1f\x7f]|\xc2[\x80-\x9f]/;

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !CONTROL_CHARACTER.test(bytes.toString('latin1'));
}
