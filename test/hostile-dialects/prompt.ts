/**
 * What a truthful host bills for a request's input: every text that becomes part of the prompt, by its
 * tokens, and everything else by what it is.
 */
import { inputTokens as chatTokens } from '../hostile/bill.ts';
import type { Fields } from '../hostile/names.ts';
import { tokensIn } from '../hostile/tokens.ts';
import type { DialectName } from './dialogue.ts';
import { Media } from './media.ts';

/** What the format adds to each message. */
const TOKENS_PER_MESSAGE = 3;

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
  },
  responses: {
    talk: words('input instructions'),
    settings: words(SETTINGS),
    names: words(
      'role content type text image_url detail file_data file_url filename call_id id name arguments output input status summary encrypted_content',
    ),
    values: words('role type detail call_id id status'),
  },
};

/** What of a request may name what a host fetches, or hold what it unpacks. */
const WITH_MEDIA = words('messages system input tools container cached_content');

/** What a host takes in. */
export interface Prompt {
  readonly tokens: number;
  /** Those of them that are sound. */
  readonly audioTokens: number;
}

/** `fields` are those of the request, by the names that the host reads. */
export function promptOf(dialect: DialectName, fields: Fields): Prompt {
  const media = new Media(String(fields.model));
  const texts = Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      if (!WITH_MEDIA.has(name)) return [[name, value]];
      const { [name]: left } = media.without({ [name]: value }) as Fields;
      return left === undefined ? [] : [[name, left]];
    }),
  );
  const shown = dialect === 'chat' ? chatTokensOf(texts) : tokensOf(FORMATS[dialect], texts);
  return { tokens: shown + media.tokens, audioTokens: media.audioTokens };
}

function tokensOf(format: Format, fields: Fields): number {
  let tokens = 0;
  for (const [name, value] of Object.entries(fields)) {
    if (format.settings.has(name)) continue;
    if (format.talk.has(name)) tokens += talkTokens(value, format);
    // Hosts show definitions to the model as text.
    else tokens += tokensIn(JSON.stringify(value));
  }
  return tokens;
}

/** Hosts of chat show tools to the model as text, too. What is predicted is output. */
function chatTokensOf({ tools, prediction: _, ...others }: Fields): number {
  return chatTokens(others) + (tools === undefined ? 0 : tokensIn(JSON.stringify(tools)));
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
  let tokens = 0;
  for (const [name, item] of Object.entries(fields)) {
    if (!format.names.has(name)) tokens += tokensIn(name);
    if (format.values.has(name)) continue;
    // What a tool is called with is shown as it is: as JSON.
    tokens +=
      fields.type === 'tool_use' && name === 'input' ? tokensIn(JSON.stringify(item)) : textTokens(item, format);
  }
  return tokens;
}
