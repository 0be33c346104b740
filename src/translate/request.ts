/**
 * The waist of requests: a conversation, tools and settings in no dialect. A reader for each dialect of
 * clients makes it, and a writer for each dialect of hosts says it, or refuses what it cannot say.
 */
import type { Fields } from '../dialects/dialect.ts';

/** A value, and the field of the client's request that says it, for messages about it: such as `input[2].detail`. */
export interface Said<Value> {
  readonly value: Value;
  readonly field: string;
}

/** Undefined where nothing is said. */
export function said<Value>(value: Value | null | undefined, field: string): Said<Value> | undefined {
  return value === undefined || value === null ? undefined : { value, field };
}

/** The end of what the host is to cache. `value`: as `cache_control` of the messages dialect. */
export type CacheMark = Said<Fields>;

interface Markable {
  readonly cache?: CacheMark | undefined;
}

export interface TextPart extends Markable {
  readonly kind: 'text';
  readonly text: string;
}

export interface ImagePart extends Markable {
  readonly kind: 'image';
  /** An address, or a data URL. */
  readonly url: Said<string>;
  readonly detail: Said<unknown>;
}

export interface FilePart extends Markable {
  readonly kind: 'file';
  /** A data URL. One of the two is there. */
  readonly data: Said<string> | undefined;
  readonly url: Said<string> | undefined;
  readonly name: string | undefined;
}

export type Part = TextPart | ImagePart | FilePart | (Markable & { readonly kind: 'refusal'; readonly text: string });

/** A call of a tool, as a function. */
export interface Call extends Markable {
  readonly kind: 'call';
  readonly id: string;
  readonly hostName: string;
  /** JSON, as the model wrote it; the text of a custom tool; or an object. */
  readonly input: { readonly json: string } | { readonly text: string } | { readonly value: Fields };
}

export type Written =
  | { readonly kind: 'parts'; readonly parts: readonly Part[] }
  /** `block`: as the messages dialect has it. Undefined if it is sealed for other hosts. */
  | { readonly kind: 'reasoning'; readonly block: Fields | undefined; readonly field: string }
  | Call;

export interface Output extends Markable {
  readonly callId: string;
  readonly content: string | readonly Part[];
}

export type Turn =
  | { readonly kind: 'instructions'; readonly parts: readonly Part[] }
  | { readonly kind: 'user'; readonly parts: readonly Part[] }
  /** Outputs without a call are a turn in which nothing is written. */
  | { readonly kind: 'assistant'; readonly written: readonly Written[]; readonly outputs: readonly Output[] };

/** A tool as a function. */
export interface OfferedTool extends Markable {
  /** Its name at the host. */
  readonly hostName: string;
  readonly description: string | undefined;
  /** A JSON schema; undefined if it takes no arguments. */
  readonly parameters: Fields | undefined;
  readonly strict: boolean | undefined;
}

export type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'required' }
  | { readonly kind: 'named'; readonly hostName: string };

export interface Reasoning {
  /** `thinking` of the messages dialect, where a client of another has it. It says more than an effort. */
  readonly thinking?: Fields | undefined;
  /** Not checked: hosts differ in their levels. */
  readonly effort: Said<unknown> | undefined;
  /** Whether the client wants to read it. */
  readonly isShown: boolean;
  /** The field that asks for a summary, if the client has to be told that there is none. */
  readonly summaryField?: string | undefined;
  /** The field that asks for no reasoning, whatever the effort, where a host that cannot be told may ignore it. */
  readonly offField?: string | undefined;
}

export type Format =
  | { readonly kind: 'text' | 'json_object' }
  /** `definition`: with name, schema, and description and strict if they are there. */
  | { readonly kind: 'json_schema'; readonly definition: Fields & { readonly schema: Fields } };

/** Hints for a cache, in the words of OpenAI, which caches unasked. */
export interface CacheHints {
  readonly key: unknown;
  readonly retention: unknown;
  readonly options: Fields | undefined;
}

/** What is undefined is not said. */
export interface NeutralRequest {
  /** As the client names it. */
  readonly model: string;
  readonly stream: boolean | undefined;
  readonly turns: Said<readonly Turn[]>;
  readonly tools: readonly OfferedTool[];
  readonly choice: ToolChoice | undefined;
  readonly parallelCalls: boolean | undefined;
  /** In tokens. */
  readonly maxOutput: number | undefined;
  readonly temperature: Said<number> | undefined;
  readonly topP: Said<number> | undefined;
  readonly topK?: Said<unknown> | undefined;
  readonly stops?: Said<readonly unknown[]> | undefined;
  readonly reasoning: Reasoning;
  readonly format: Format;
  /** The kinds of answers that are asked for, in the words of OpenAI; undefined for text alone. */
  readonly modalities?: Said<readonly string[]> | undefined;
  readonly verbosity?: Said<unknown> | undefined;
  readonly user: unknown;
  readonly safetyIdentifier?: unknown;
  readonly metadata?: unknown;
  /** In the words of OpenAI. */
  readonly serviceTier: unknown;
  /** The field that asks for the probabilities of what is written. */
  readonly logprobsField?: string | undefined;
  /** How many alternatives to each token. */
  readonly topLogprobs?: Said<unknown> | undefined;
  readonly cacheHints?: CacheHints | undefined;
}
