/**
 * What a truthful host of messages or responses bills for a request's input: every text that becomes
 * part of the prompt, by its tokens, and attachments by their kind.
 */
import { inputTokens as chatTokens } from '../hostile/bill.ts';
import type { Fields } from '../hostile/names.ts';
import { tokensIn } from '../hostile/tokens.ts';
import type { DialectName } from './dialogue.ts';

/** What the format adds to each message. */
const TOKENS_PER_MESSAGE = 3;
const TOKENS_PER_IMAGE = 1_600;
/** A dense PDF: 5 KB and 600 tokens per page. */
const FILE_BYTES_PER_TOKEN = 8;
/** A PDF of 100 pages, at an address. */
const TOKENS_PER_REMOTE_FILE = 60_000;

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** What a dialect makes of the fields of a request. */
interface Format {
  /** They hold messages. */
  readonly talk: ReadonlySet<string>;
  /** Settings: they are no part of the prompt. */
  readonly settings: ReadonlySet<string>;
  /** Names that the format itself has within messages. */
  readonly names: ReadonlySet<string>;
  /** Of these, those whose values are words of the format. */
  readonly values: ReadonlySet<string>;
  /** The tokens of an attachment; undefined for anything else. */
  attachment(value: Fields): number | undefined;
}

const SETTINGS =
  'model stream stream_options max_tokens max_output_tokens max_completion_tokens max_tokens_to_sample n user metadata service_tier temperature top_p top_k store thinking reasoning cache_control stop_sequences tool_choice parallel_tool_calls max_tool_calls prompt_cache_key truncation include';

const FORMATS: Readonly<Record<'messages' | 'responses', Format>> = {
  messages: {
    talk: words('messages system'),
    settings: words(SETTINGS),
    names: words(
      'role content type text source media_type data url title context citations tool_use_id id name input is_error thinking signature cache_control',
    ),
    values: words('role type media_type tool_use_id id citations is_error signature cache_control'),
    attachment: messagesAttachment,
  },
  responses: {
    talk: words('input instructions'),
    settings: words(SETTINGS),
    names: words(
      'role content type text image_url detail file_data file_url filename call_id id name arguments output input status summary encrypted_content',
    ),
    values: words('role type detail call_id id status'),
    attachment: responsesAttachment,
  },
};

/** Tokens that a host takes in. `fields` are those of the request, by the names that the host reads. */
export function inputTokens(dialect: DialectName, fields: Fields): number {
  if (dialect === 'chat') return chatTokensOf(fields);
  const format = FORMATS[dialect];
  let tokens = 0;
  for (const [name, value] of Object.entries(fields)) {
    if (format.settings.has(name)) continue;
    if (format.talk.has(name)) tokens += talkTokens(value, format);
    // Hosts show definitions to the model as text.
    else tokens += tokensIn(JSON.stringify(value));
  }
  return tokens;
}

/** Hosts of chat show tools to the model as text, too. */
function chatTokensOf({ messages, tools, ...others }: Fields): number {
  const shownTools = tools === undefined ? 0 : tokensIn(JSON.stringify(tools));
  return chatTokens({ ...others, messages: withoutFiles(messages) }) + fileTokens(messages) + shownTools;
}

/** The parts of chat messages. */
function partsOf(messages: unknown): Fields[] {
  return (messages as Fields[]).flatMap(({ content }) => (Array.isArray(content) ? content : []));
}

/** Files in chat: their names are text. */
function fileTokens(messages: unknown): number {
  const data = partsOf(messages).flatMap(({ type, file }) => (type === 'file' ? [(file as Fields).file_data] : []));
  return data.reduce<number>((sum, each) => sum + (tokensOfFile(each) ?? tokensIn(String(each))), 0);
}

function withoutFiles(messages: unknown): unknown {
  return JSON.parse(JSON.stringify(messages, (name, value) => (name === 'file_data' ? undefined : value)));
}

function talkTokens(value: unknown, format: Format): number {
  const messages = Array.isArray(value) ? value : [value];
  return messages.reduce<number>((sum, message) => sum + TOKENS_PER_MESSAGE + textTokens(message, format), 0);
}

/** Every text and every unusual name within a message. */
function textTokens(value: unknown, format: Format): number {
  if (typeof value === 'string') return tokensIn(value);
  if (typeof value === 'number') return tokensIn(String(value));
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textTokens(item, format), 0);
  if (typeof value !== 'object' || value === null) return 0;
  const fields = value as Fields;
  const attached = format.attachment(fields);
  let tokens = attached ?? 0;
  for (const [name, item] of Object.entries(fields)) {
    if (!format.names.has(name)) tokens += tokensIn(name);
    if (format.values.has(name) || (attached !== undefined && ATTACHED.has(name))) continue;
    // What a tool is called with is shown as it is: as JSON.
    tokens +=
      fields.type === 'tool_use' && name === 'input' ? tokensIn(JSON.stringify(item)) : textTokens(item, format);
  }
  return tokens;
}

/** Fields that hold what is attached. */
const ATTACHED = words('source image_url file_data file_url');

function messagesAttachment({ type, source }: Fields): number | undefined {
  if (typeof source !== 'object' || source === null || (type !== 'image' && type !== 'document')) return undefined;
  const { type: kind, data } = source as Fields;
  if (kind === 'url') return type === 'image' ? TOKENS_PER_IMAGE : TOKENS_PER_REMOTE_FILE;
  const bytes = kind === 'base64' ? bytesIn(data) : undefined;
  if (bytes === undefined) return undefined;
  return type === 'image' ? TOKENS_PER_IMAGE : Math.floor(bytes / FILE_BYTES_PER_TOKEN);
}

const DATA_URL = /^data:[\w/+.-]{0,100};base64,/;

function responsesAttachment({ type, image_url: image, file_data: data, file_url: url }: Fields): number | undefined {
  if (type === 'input_file') {
    if (typeof url === 'string' && url !== '') return TOKENS_PER_REMOTE_FILE;
    return tokensOfFile(data);
  }
  if (type !== 'input_image' || typeof image !== 'string') return undefined;
  const isImage = image.startsWith('https://') || bytesIn(image.replace(DATA_URL, '')) !== undefined;
  return isImage ? TOKENS_PER_IMAGE : undefined;
}

/** Undefined for anything but base64, which is text. */
function tokensOfFile(data: unknown): number | undefined {
  const bytes = bytesIn(String(data).replace(DATA_URL, ''));
  return bytes === undefined ? undefined : Math.floor(bytes / FILE_BYTES_PER_TOKEN);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** How many bytes base64 stands for; undefined for anything else, which is text. */
function bytesIn(data: unknown): number | undefined {
  return typeof data === 'string' && BASE64.test(data) ? (data.length / 4) * 3 : undefined;
}
