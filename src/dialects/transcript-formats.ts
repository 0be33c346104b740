/**
 * The formats of transcripts. Plain text and subtitles contain neither the audio length nor the tokens, so the gateway
 * requests JSON from hosts and converts it to the client's format.
 */
import { isObject } from '../core/json.ts';
import type { Fields, Rendered } from './dialect.ts';

export const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const;
export type TranscriptFormat = (typeof FORMATS)[number];

/** Returns the requested format; undefined for the default, JSON. */
export function formatOf({ response_format: format }: Fields): TranscriptFormat | undefined {
  return FORMATS.find((each) => each === format);
}

/** Models without `verbose_json`, whose answers contain neither segments nor a length: gpt-4o-transcribe, Voxtral. */
const WITHOUT_SEGMENTS = /transcribe|voxtral/i;

/** The billing of a request at a model. */
export interface TranscriptBilling {
  /** The host's name for the model. */
  readonly upstream: string;
  /** Whether the price depends on the audio length. */
  readonly isBySecond: boolean;
  /** Whether the hold covers the actual audio length rather than a bound. */
  readonly isExact: boolean;
}

/** The format to request from the host; undefined to keep the client's. */
export type Asked = { readonly format: 'json' | 'verbose_json' | undefined } | { readonly problem: string };

export function formatFor(wanted: TranscriptFormat | undefined, billing: TranscriptBilling): Asked {
  const { upstream, isBySecond, isExact } = billing;
  const reportsLength = isBySecond && !WITHOUT_SEGMENTS.test(upstream);
  const isLengthUnknown = isBySecond && !isExact && !reportsLength;
  switch (wanted) {
    case 'text':
      if (isLengthUnknown) return { problem: UNREPORTED_LENGTH };
      return { format: reportsLength ? 'verbose_json' : 'json' };
    case 'srt':
    case 'vtt':
      if (reportsLength) return { format: 'verbose_json' };
      return { problem: `response_format: this model reports no segments for ${wanted}; expected json or text` };
    case 'json':
    case undefined:
      if (isLengthUnknown) return { problem: UNREPORTED_LENGTH };
      // Not every host reports the length in plain JSON.
      return { format: isBySecond && !isExact ? 'verbose_json' : undefined };
    case 'verbose_json':
    case 'diarized_json':
      return { format: undefined };
  }
}

const UNREPORTED_LENGTH =
  'file: its length cannot be determined, and this model does not report it; send uncompressed WAV, MP3, FLAC, Ogg or WebM';

/** Converts a JSON transcript to the client's format. Returns a description of the missing part if it is incomplete. */
export function renderTranscript(answer: Fields, wanted: TranscriptFormat | undefined): Rendered | string {
  const { text, usage } = answer;
  switch (wanted) {
    case 'text':
      return plain(String(text));
    case 'srt':
    case 'vtt': {
      const cues = cuesOf(answer.segments);
      if (cues === undefined) return 'a transcript without segments';
      return plain(wanted === 'srt' ? cues.map(srtCue).join('') : `WEBVTT\n\n${cues.map(vttCue).join('')}`);
    }
    default:
      return { kind: 'json', body: Buffer.from(JSON.stringify({ text, ...(usage !== undefined && { usage }) })) };
  }
}

/** OpenAI ends each of these formats with an extra newline. */
function plain(text: string): Rendered {
  return { kind: 'bytes', body: Buffer.from(`${text}\n`), contentType: 'text/plain; charset=utf-8' };
}

interface Cue {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function cuesOf(segments: unknown): readonly Cue[] | undefined {
  if (!Array.isArray(segments)) return undefined;
  const cues = segments.map((each: unknown) => {
    const { start, end, text } = isObject(each) ? each : {};
    const isCue = typeof start === 'number' && typeof end === 'number' && typeof text === 'string';
    // An arrow within a text would start another cue.
    return isCue ? { start, end, text: text.trim().replaceAll('-->', '->') } : undefined;
  });
  return cues.every((cue) => cue !== undefined) ? cues : undefined;
}

function srtCue({ start, end, text }: Cue, index: number): string {
  return `${index + 1}\n${timestamp(start, ',')} --> ${timestamp(end, ',')}\n${text}\n\n`;
}

function vttCue({ start, end, text }: Cue): string {
  return `${timestamp(start, '.')} --> ${timestamp(end, '.')}\n${text}\n\n`;
}

/** Hours, minutes, seconds and thousandths. */
function timestamp(seconds: number, mark: ',' | '.'): string {
  const thousandths = Math.max(0, Math.round(seconds * 1_000));
  const [hours, minutes] = [Math.floor(thousandths / 3_600_000), Math.floor(thousandths / 60_000) % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  const rest = String(thousandths % 1_000).padStart(3, '0');
  return `${two(hours)}:${two(minutes)}:${two(Math.floor(thousandths / 1_000) % 60)}${mark}${rest}`;
}
