/** The neutral form of requests. A reader per client dialect produces it, and a writer per host dialect consumes it. */
import type { Fields } from '../dialects/dialect.ts';

/** A value with the path of its field in the client's request, such as `input[2].detail`, for messages. */
export interface Sourced<Value> {
  readonly value: Value;
  readonly field: string;
}

/** Returns undefined for an absent value. */
export function sourced<Value>(value: Value | null | undefined, field: string): Sourced<Value> | undefined {
  return value === undefined || value === null ? undefined : { value, field };
}

/** End of a prefix to cache. `value`: `cache_control` of the messages dialect. */
export type CacheMark = Sourced<Fields>;

interface Markable {
  readonly cache?: CacheMark | undefined;
}

export interface TextPart extends Markable {
  readonly kind: 'text';
  readonly text: string;
}

export interface ImagePart extends Markable {
  readonly kind: 'image';
  /** A URL, or a data URL. */
  readonly url: Sourced<string>;
  readonly detail: Sourced<unknown>;
}

export interface FilePart extends Markable {
  readonly kind: 'file';
  /** A data URL. Either `data` or `url` is set. */
  readonly data: Sourced<string> | undefined;
  readonly url: Sourced<string> | undefined;
  readonly name: string | undefined;
}

export type Part = TextPart | ImagePart | FilePart | (Markable & { readonly kind: 'refusal'; readonly text: string });

/** A tool call, as a function. */
export interface Call extends Markable {
  readonly kind: 'call';
  readonly id: string;
  readonly hostName: string;
  /** JSON written by the model, the text of a custom tool, or an object. */
  readonly input: { readonly json: string } | { readonly text: string } | { readonly value: Fields };
}

export type Written =
  | { readonly kind: 'parts'; readonly parts: readonly Part[] }
  /** `block`: in the form of the messages dialect. Undefined if only another host can decrypt it. */
  | { readonly kind: 'reasoning'; readonly block: Fields | undefined; readonly field: string }
  | Call;

export interface Output extends Markable {
  readonly callId: string;
  readonly content: string | readonly Part[];
}

export type Turn =
  | { readonly kind: 'instructions'; readonly parts: readonly Part[] }
  | { readonly kind: 'user'; readonly parts: readonly Part[] }
  /** Outputs without a call form a turn with an empty `written`. */
  | { readonly kind: 'assistant'; readonly written: readonly Written[]; readonly outputs: readonly Output[] };

/** A tool, as a function. */
export interface OfferedTool extends Markable {
  /** The tool's name on the host. */
  readonly hostName: string;
  readonly description: string | undefined;
  /** A JSON schema; undefined without arguments. */
  readonly parameters: Fields | undefined;
  readonly strict: boolean | undefined;
}

export type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'required' }
  | { readonly kind: 'named'; readonly hostName: string };

export interface Reasoning {
  /** `thinking` of the messages dialect, if the client's dialect has it. It is more specific than an effort. */
  readonly thinking?: Fields | undefined;
  /** Not validated, because levels differ between hosts. */
  readonly effort: Sourced<unknown> | undefined;
  /** Whether the client requests readable reasoning. */
  readonly isShown: boolean;
  /** The field that requests a summary, if its absence must be reported to the client. */
  readonly summaryField?: string | undefined;
  /** The field that turns reasoning off, reported as ignored if the host cannot turn it off. */
  readonly offField?: string | undefined;
}

export type Format =
  | { readonly kind: 'text' | 'json_object' }
  /** `definition`: name and schema, with optional description and strict. */
  | { readonly kind: 'json_schema'; readonly definition: Fields & { readonly schema: Fields } };

/** OpenAI's cache hints; OpenAI caches automatically. */
export interface CacheHints {
  readonly key: unknown;
  readonly retention: unknown;
  readonly options: Fields | undefined;
}

/** A request in neutral form. Undefined fields are absent from the client's request. */
export interface NeutralRequest {
  /** The client's name of the model. */
  readonly model: string;
  readonly stream: boolean | undefined;
  readonly turns: Sourced<readonly Turn[]>;
  readonly tools: readonly OfferedTool[];
  readonly choice: ToolChoice | undefined;
  readonly parallelCalls: boolean | undefined;
  /** Maximum output in tokens. */
  readonly maxOutput: number | undefined;
  readonly temperature: Sourced<number> | undefined;
  readonly topP: Sourced<number> | undefined;
  readonly topK?: Sourced<unknown> | undefined;
  readonly stops?: Sourced<readonly unknown[]> | undefined;
  readonly reasoning: Reasoning;
  readonly format: Format;
  /** Requested output modalities in OpenAI's terms; undefined for text only. */
  readonly modalities?: Sourced<readonly string[]> | undefined;
  readonly verbosity?: Sourced<unknown> | undefined;
  readonly user: unknown;
  readonly safetyIdentifier?: unknown;
  readonly metadata?: unknown;
  /** In OpenAI's terms. */
  readonly serviceTier: unknown;
  /** The field that requests log probabilities. */
  readonly logprobsField?: string | undefined;
  /** Number of alternatives per token. */
  readonly topLogprobs?: Sourced<unknown> | undefined;
  readonly cacheHints?: CacheHints | undefined;
}
