/** What a truthful host makes of all that is no text in a request: it fetches what is named, and unpacks what is packed. */
import type { Fields } from '../hostile/names.ts';
import { tokensIn } from '../hostile/tokens.ts';
import { type Contents, contentsOf } from './files/file.ts';
import { audioTokensPerSecond, pictureTokens } from './pricing.ts';

/** A long document, or an hour of sound. What a sender names is as long as it likes. */
const TOKENS_PER_FETCHED_FILE = 150_000;
/** The text of a page and its picture. */
const TOKENS_PER_PAGE = 1_900;
/** Of film, with its sound. */
const TOKENS_PER_FILM_SECOND = 290;
/** A PDF that was not made here: 5 KB and 600 tokens per page. */
const FILE_BYTES_PER_TOKEN = 8;

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
/** Fields whose texts are ids or addresses of what a host keeps or fetches. */
const NAMED = words(
  'file_id file_url file_uri video video_url audio_url document_url container container_id vector_store_id cached_content',
);
const LISTED = words('file_ids vector_store_ids');
const PICTURED = words('image_url input_image computer_screenshot');
/** What a tool is called with, and what says how to call it, is text whatever it looks like. */
const CALLS = words('tool_use server_tool_use mcp_list_tools function_call custom_tool_call');

/** Reads parts of one request, and adds up what they cost beside their text. */
export class Media {
  readonly #model: string;
  /** All tokens, those of sound included. */
  tokens = 0;
  audioTokens = 0;

  constructor(model: string) {
    this.#model = model;
  }

  /** The value without what was read. */
  without(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.without(item));
    if (typeof value !== 'object' || value === null || CALLS.has(String((value as Fields).type))) return value;
    const part = value as Fields;
    const left = Object.entries(part).filter(([name, item]) => !this.#reads(name, item, part));
    return Object.fromEntries(left.map(([name, item]) => [name, this.without(item)]));
  }

  /** Whether a field of a part was more than text, and has been read. */
  #reads(name: string, item: unknown, part: Fields): boolean {
    const address = addressIn(item);
    if (name === 'file_id' && PICTURED.has(String(part.type))) return this.#isPictureById(item);
    if (NAMED.has(name)) return this.#isNamed(name, item, address);
    if (LISTED.has(name)) return Array.isArray(item) && item.every((each) => this.#isFetched(each));
    switch (name) {
      case 'image_url':
        return PICTURED.has(String(part.type)) && this.#isPicture(address, part);
      case 'source':
        return this.#isSource(item as Fields, part.type);
      case 'file_data':
        return this.#isFile(address);
      case 'data':
        return 'format' in part && this.#isSound(address);
      case 'audio':
        return part.role === 'assistant' && this.#isSpeech(item);
      default:
        return false;
    }
  }

  #isNamed(name: string, item: unknown, address: unknown): boolean {
    if (Array.isArray(item) && name === 'video') {
      for (const _ of item) this.#add(pictureTokens(this.#model));
      return true;
    }
    return this.#isPacked(address) || this.#isFetched(address);
  }

  #isFetched(address: unknown): boolean {
    if (typeof address !== 'string' || address === '') return false;
    this.#add(TOKENS_PER_FETCHED_FILE);
    return true;
  }

  #isPictureById(id: unknown): boolean {
    if (typeof id === 'string') this.#add(pictureTokens(this.#model));
    return typeof id === 'string';
  }

  /** An earlier answer that was spoken, by its id. */
  #isSpeech(audio: unknown): boolean {
    if (typeof audio !== 'object' || audio === null || !('id' in audio)) return false;
    this.audioTokens += TOKENS_PER_FETCHED_FILE;
    return this.#isFetched(audio.id);
  }

  #isPicture(address: unknown, part: Fields): boolean {
    if (typeof address !== 'string') return false;
    const { mediaType, data } = splitUrl(address);
    const isOther = mediaType !== undefined && !mediaType.startsWith('image/');
    if (isOther) return this.#isPacked(address);
    if (!isAddress(address) && bytesIn(data) === undefined) return false;
    const detail = (part.image_url as Fields | undefined)?.detail ?? part.detail;
    this.#add(pictureTokens(this.#model, contentsOf(data)?.picture, detail));
    return true;
  }

  #isSource(source: Fields, type: unknown): boolean {
    if (typeof source !== 'object' || source === null || (type !== 'image' && type !== 'document')) return false;
    if (source.type === 'url' && type === 'image') return this.#isPicture(source.url, {});
    if (source.type === 'file' && type === 'image') return this.#isPictureById(source.file_id);
    if (source.type === 'url' || source.type === 'file') return this.#isFetched(source.url ?? source.file_id);
    if (source.type !== 'base64') return false;
    const url = `data:${source.media_type};base64,${source.data}`;
    return type === 'image' ? this.#isPicture(url, {}) : this.#isPacked(url);
  }

  #isFile(address: unknown): boolean {
    if (isAddress(address)) return this.#isFetched(address);
    return (
      typeof address === 'string' && this.#isPacked(address.startsWith('data:') ? address : `data:;base64,${address}`)
    );
  }

  /** Some hosts take an address here, too. */
  #isSound(data: unknown): boolean {
    if (isAddress(data)) return this.#isFetched(data);
    return typeof data === 'string' && this.#isPacked(`data:audio/wav;base64,${data}`);
  }

  /** Data in base64, with its media type. */
  #isPacked(url: unknown): boolean {
    if (typeof url !== 'string' || !url.startsWith('data:')) return false;
    const { mediaType = '', data } = splitUrl(url);
    const bytes = bytesIn(data);
    if (bytes === undefined) return false;
    this.#addContents(contentsOf(data) ?? guessed(mediaType, data, bytes));
    return true;
  }

  #addContents({ pages = 0, seconds = 0, filmSeconds = 0, textTokens = 0, picture }: Contents): void {
    const audio = Math.ceil(seconds * audioTokensPerSecond(this.#model));
    this.audioTokens += audio;
    this.#add(audio + pages * TOKENS_PER_PAGE + filmSeconds * TOKENS_PER_FILM_SECOND + textTokens);
    if (picture !== undefined) this.#add(pictureTokens(this.#model, picture));
  }

  #add(tokens: number): void {
    this.tokens += tokens;
  }
}

/** A text, or that in the `url` of an object. */
function addressIn(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'url' in value ? value.url : value;
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//.test(value);
}

const DATA_URL = /^data:([\w/+.-]{0,100});base64,/;

function splitUrl(url: string): { readonly mediaType: string | undefined; readonly data: string } {
  const [start = '', mediaType] = DATA_URL.exec(url) ?? [];
  return { mediaType: mediaType === '' ? undefined : mediaType, data: url.slice(start.length) };
}

/** What a host makes of a file that was not made here. */
function guessed(mediaType: string, data: string, bytes: number): Contents {
  const isText = mediaType.startsWith('text/');
  return {
    textTokens: isText ? tokensIn(Buffer.from(data, 'base64').toString()) : Math.floor(bytes / FILE_BYTES_PER_TOKEN),
  };
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** How many bytes base64 stands for; undefined for anything else, which is text. */
function bytesIn(data: unknown): number | undefined {
  return typeof data === 'string' && BASE64.test(data) ? (data.length / 4) * 3 : undefined;
}
