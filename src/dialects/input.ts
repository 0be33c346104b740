/** Estimates the input tokens of a request before it is sent, and samples its text for exact counting. */
import { isObject } from '../core/json.ts';
import { TextSample } from '../wire/text-sample.ts';
import { estimateTokensOf } from '../wire/token-estimate.ts';
import type { Fields, ModelRequest } from './dialect.ts';

/** The overhead of a format per message: its role, and what separates it from the next one. */
export const TOKENS_PER_MESSAGE = 3;
/** About a 1-megapixel image at the more expensive hosts. */
const TOKENS_PER_IMAGE = 1_600;
/** The slowest MP3 (8 kbit/s), at the ten tokens per second that OpenAI counts. */
const AUDIO_BYTES_PER_TOKEN = 100;
/** A dense PDF: 5 KB and 600 tokens per page. */
const FILE_BYTES_PER_TOKEN = 8;
/** Its length is not known: a PDF of 100 pages, the most that hosts took for long. */
const TOKENS_PER_REMOTE_FILE = 60_000;

/** The estimated input tokens of a request: of everything in its body that a host may make tokens of. */
export function estimateInput(request: ModelRequest): number {
  const { textTokens, otherTokens } = inputParts(request);
  return textTokens + otherTokens;
}

/** What an estimate consists of: texts, and what is not text, such as images and what comes with each message. */
export function inputParts(request: ModelRequest): { readonly textTokens: number; readonly otherTokens: number } {
  const texts: string[] = [];
  const otherTokens = request.dialect.walkInput(request, (text) => texts.push(text));
  return { textTokens: estimateTokensOf(texts), otherTokens };
}

/** A request's input for counting: its text, and the tokens of everything that is not text. */
export interface InputSample {
  readonly text: TextSample;
  readonly extraTokens: number;
}

export function sampleInput(request: ModelRequest): InputSample {
  const text = new TextSample();
  const extraTokens = request.dialect.walkInput(request, (piece) => text.add(piece));
  return { text, extraTokens };
}

export type OnText = (text: string) => void;

/** The fields at the top level of a body that are not messages. */
export interface FieldKinds {
  /** Settings, of which no host makes tokens. Whatever else is in a body counts, by its name and its value. */
  readonly settings: ReadonlySet<string>;
  /** Other fields of the format: they count by their values alone. */
  readonly unnamed: ReadonlySet<string>;
  /** Walked by the dialect itself. */
  readonly walked: ReadonlySet<string>;
}

/** Passes on the texts of the fields that are not messages. */
export function walkFields(fields: Fields, { settings, unnamed, walked }: FieldKinds, onText: OnText): void {
  for (const [name, value] of Object.entries(fields)) {
    if (settings.has(name) || walked.has(name)) continue;
    if (!unnamed.has(name)) onText(name);
    if (typeof value === 'string') onText(value);
    // Hosts show definitions to the model as text much like this.
    else if (typeof value === 'object' && value !== null) onText(JSON.stringify(value));
  }
}

/** Data in base64 within an object: what it stands for, and the rest of the object. */
export interface Attachment {
  /** `remote_file`: a document that the host is to fetch. */
  readonly kind: 'image' | 'audio' | 'file' | 'remote_file';
  readonly data: unknown;
  readonly others: Fields;
}

/** The attachment that an object holds, if it holds one. `name`: of the field that it is the value of, otherwise empty. */
export type ReadAttachment = (name: string, value: Fields) => Attachment | undefined;

const ATTACHMENT_TOKENS: Readonly<Record<Attachment['kind'], (base64Length: number) => number>> = {
  image: () => TOKENS_PER_IMAGE,
  audio: (length) => Math.ceil((length * 3) / 4 / AUDIO_BYTES_PER_TOKEN),
  remote_file: () => TOKENS_PER_REMOTE_FILE,
  file: (length) => Math.ceil((length * 3) / 4 / FILE_BYTES_PER_TOKEN),
};

/** Passes on the texts of a message, but for its role. Returns the tokens of its attachments. */
export function walkMessage(message: Fields, readAttachment: ReadAttachment, onText: OnText): number {
  let tokens = TOKENS_PER_MESSAGE;
  for (const [name, value] of Object.entries(message)) {
    // Known roles alone get this far.
    if (name === 'role') continue;
    if (name !== 'content') onText(name);
    tokens += walkValue('', value, readAttachment, onText);
  }
  return tokens;
}

/** Passes on every text and name within the value of a field. The recursion is bounded by MAX_JSON_DEPTH. */
function walkValue(field: string, value: unknown, readAttachment: ReadAttachment, onText: OnText): number {
  if (typeof value === 'string') onText(value);
  else if (typeof value === 'number') onText(String(value));
  else if (Array.isArray(value)) {
    return value.reduce<number>((sum, item) => sum + walkValue('', item, readAttachment, onText), 0);
  } else if (isObject(value)) return walkObject(field, value, readAttachment, onText);
  return 0;
}

function walkObject(field: string, value: Fields, readAttachment: ReadAttachment, onText: OnText): number {
  const attachment = readAttachment(field, value);
  if (attachment === undefined) return walkMembers(value, readAttachment, onText);
  const { kind, data, others } = attachment;
  const length = base64Length(data);
  // An image that the host is to fetch, say.
  const rest = length === undefined ? walkValue(field, data, readAttachment, onText) : 0;
  return ATTACHMENT_TOKENS[kind](length ?? 0) + rest + walkMembers(others, readAttachment, onText);
}

function walkMembers(value: Fields, readAttachment: ReadAttachment, onText: OnText): number {
  return Object.entries(value).reduce((sum, [name, item]) => {
    onText(name);
    return sum + walkValue(name, item, readAttachment, onText);
  }, 0);
}

const DATA_URL = /^data:[^,]{0,200};base64,/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The length of data in base64, by itself or in a data URL. Undefined for anything else, which is text. */
function base64Length(data: unknown): number | undefined {
  if (typeof data !== 'string') return undefined;
  const start = DATA_URL.exec(data)?.[0].length ?? 0;
  const base64 = start === 0 ? data : data.slice(start);
  return BASE64.test(base64) ? base64.length : undefined;
}
