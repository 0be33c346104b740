/** The interfaces of a dialect. Each folder here implements one; callers depend only on these interfaces. */
import type { DialectName } from '../core/dialects.ts';
import type { ClientError } from '../core/errors.ts';
import type { HostTool, ToolSetting } from '../core/host-tools.ts';
import type { AskedModality } from '../core/modalities.ts';
import type { ModelTerms } from '../core/model-terms.ts';
import type { BodyResult, JsonBody } from '../wire/body.ts';
import type { ImageSize } from '../wire/media/image-size.ts';
import type { SoundLength } from '../wire/media/mp4.ts';
import type { SseEvent } from '../wire/sse.ts';
import type { AnswerFacts } from './answer.ts';

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** A validated request. Fields that the gateway does not act on stay in `body`. */
export interface ModelRequest {
  readonly dialect: Dialect;
  readonly body: JsonBody;
  /** `<provider>/<model>`. */
  readonly model: string;
  readonly stream: boolean;
  /** Whether the client requested usage in its stream. */
  readonly includeUsage: boolean;
  /** The declared maximum of output tokens per choice: the largest one if hosts may read any of several fields. */
  readonly maxOutput: number | undefined;
  /** The number of answers requested. */
  readonly choices: number;
  readonly serviceTier: string | undefined;
  /**
   * The maximum of hidden thinking tokens per choice that the host may bill: infinite if the request sets no bound,
   * undefined if the model decides.
   */
  readonly hiddenThinking: number | undefined;
  /** The requested output modalities other than text. */
  readonly asked: readonly AskedModality[];
  /**
   * Returns the maximum output tokens per choice where the model and its kind of output determine it rather than the
   * request.
   */
  readonly outputAt?: (
    model: Pick<ModelTerms, 'maxOutput' | 'defaultOutput' | 'maxSeconds' | 'imageOutput' | 'isWithoutTokenPrices'>,
  ) => number;
  /** The estimated tokens of a predicted answer. Hosts bill the unused ones as output of each choice. */
  readonly predictedTokens: number;
  /** Bytes of audio per output token. */
  readonly audioBytesPerToken: number;
  /** The lifetime of the request's writes to the prompt cache; undefined if it writes to no cache. */
  readonly cacheWrite: CacheLifetime | undefined;
  /** The token count above which the host summarizes the conversation; undefined if it never does. */
  readonly summarizesAbove: number | undefined;
  /** The host's own tools that the model may call. */
  readonly hostTools: readonly HostTool[];
  /** Fields that the host may read as the number of images instead of `n`. */
  readonly otherNumbers?: readonly ToolSetting[];
  /** The request's use of state at its host; undefined in stateless dialects. */
  readonly state?: HostState;
  /** A form field that the gateway sets for the host. */
  readonly hostField?: { readonly name: string; readonly value: string };
  /**
   * Converts a valid answer to the client's format if the host was asked for another one. Returns a description of the
   * missing part if the answer is incomplete.
   */
  readonly render?: (answer: Fields) => Rendered | string;
}

/** A whole answer in the client's format. */
export type Rendered =
  | { readonly kind: 'json'; readonly body: Buffer }
  | { readonly kind: 'bytes'; readonly body: Buffer; readonly contentType: string };

/** State that a host stores between requests. */
export interface HostState {
  /** Whether the host is asked to store the answer. True unless the request disables it. */
  readonly isKept: boolean;
  /** Stored responses and items that the request references. */
  readonly references: readonly Reference[];
  /** Why a host that stores no state for the key cannot serve the request; undefined if it can. */
  readonly problem: string | undefined;
  /** Returns why a host that stores responses cannot serve the request; undefined if it can. */
  readonly keptProblem: () => string | undefined;
  /** Returns the same for a provider without stored responses whose host stores responses for another provider. */
  readonly foreignProblem: () => string | undefined;
  /** The config allows the host to store the answer for the key. */
  readonly mayKeep?: true;
}

/** The id of an object that a host stores, and the field with the id, such as `input[2].id`. */
export interface Reference {
  readonly kind: 'response' | 'item';
  readonly id: string;
  readonly field: string;
}

/** The object that contains an attachment, and its field with the data or the name. */
export interface Place {
  readonly holder: Fields;
  readonly field: string;
}

/** Non-text input. */
export type Attachment =
  /** `size`: undefined if unknown, as for an image that the host downloads. */
  | { readonly kind: 'image'; readonly size: ImageSize | undefined; readonly isFetched?: true }
  | ({ readonly kind: 'audio' } & SoundLength & Partial<Place>)
  /** Hosts read the text of a PDF and render its pages as images. */
  | ({ readonly kind: 'pdf' } & Place)
  /** Data whose tokens cannot be estimated. `hasSound`: it is audio or video. */
  | ({ readonly kind: 'opaque'; readonly hasSound?: boolean } & Place)
  /**
   * A reference to state or content that the gateway cannot see: a file at the host, or an address to fetch. `ofTool`: a
   * tool of the host references it. `hasSound`: its field or type indicates audio or video.
   */
  | ({ readonly kind: 'reference'; readonly ofTool?: true; readonly hasSound?: boolean } & Place);

/** Receives the texts and attachments of an input. */
export interface InputVisitor {
  text(text: string): void;
  attachment(attachment: Attachment): void;
}

/** A prompt-cache lifetime. */
export type CacheLifetime = '5m' | '1h';

export type Checked = { readonly ok: true; readonly request: ModelRequest } | InvalidRequest;

export interface InvalidRequest {
  readonly ok: false;
  /** Such as `n: expected a whole number from 1 to 128`. */
  readonly problem: string;
  /** Extra fields of the error for client libraries. */
  readonly details?: Fields;
}

/** The fields to set in the body for the upstream. */
export interface UpstreamFields {
  /** The upstream's own name for the model. */
  readonly model: string;
  /** Request usage at the end of the stream. */
  readonly askForUsage: boolean;
  /** A maximum of output tokens. The field replaces every other maximum in the request. */
  readonly cap: { readonly field: string; readonly tokens: number } | undefined;
}

/** The model and mode from the request path, in dialects whose bodies lack them. */
export interface Address {
  readonly model: string;
  readonly stream: boolean;
  /** Whether the body holds several requests. */
  readonly isBatch?: boolean;
}

/** The wire format of an API, between clients and the gateway, and between the gateway and hosts. */
export interface Dialect {
  readonly name: DialectName;
  /** For messages: `The provider sent a response that is not in the <title> format.` */
  readonly title: string;
  /** Path of requests, relative to the base URL of a host. */
  readonly path: string;
  /** Returns the path if it depends on the request. `model`: the host's name for the model. */
  readonly pathFor?: (request: ModelRequest, model: string) => string;
  /** Client headers to forward to the host, in lower case. */
  readonly headers: readonly string[];
  /** The field for the maximum of output tokens; undefined in a dialect without one. */
  readonly maximumField: string | undefined;
  /** Fields of answers and events that the model writes or that contain no secrets. */
  readonly answerFields: ReadonlySet<string>;

  /** Bytes of an event to buffer for parsing. Longer events are forwarded in pieces. */
  readonly maxEventBytes: number;

  /** Adds the model and mode from the path to the body, as `check` expects. */
  readonly place?: (body: JsonBody, address: Address | undefined) => BodyResult;
  /** Validates every field that the gateway acts on, and reports the first problem. */
  check(body: JsonBody, model: string): Checked;
  /** Adapts the request to the model, in dialects where it depends on the prices. */
  readonly forModel?: (request: ModelRequest, model: ModelTerms) => Checked;
  /** Passes every text and attachment of the input to `visit`. Returns the format's own token overhead. */
  walkInput(request: ModelRequest, visit: InputVisitor): number;
  /** Returns the request body for a host. */
  edit(request: ModelRequest, fields: UpstreamFields): string;

  /** Reads a whole answer. `choices` is undefined if the object is not an answer. */
  readAnswer(answer: Fields): AnswerFacts;
  /** Whether requests are multipart forms with files instead of JSON. */
  readonly isForm?: true;
  /** Reads a whole answer that is not JSON; undefined in a dialect without such answers. */
  readBytes?(answer: Buffer, request: ModelRequest): AnswerFacts;
  /** Whether non-JSON answers are forwarded while they arrive if their content is free. */
  readonly passesBytesOn?: true;
  /** Whether the format lets hosts send a whole answer if the model cannot stream. */
  readonly mayIgnoreStream?: true;
  /** Joins the pieces of a stream into a whole answer, in a dialect whose hosts may also stream a JSON array. */
  joinPieces?(pieces: readonly Fields[]): Fields;
  /** Returns a reader for a stream. `request`: undefined for a stream that the gateway generates. */
  startStream(requestId: string, request?: ModelRequest): StreamReader;

  /** The body of an error response. */
  errorBody(error: ClientError, requestId: string): string;
}

/** Stream endings that the gateway writes to a client. */
export interface StreamEnds {
  /** Returns the ending of a failed stream. */
  failure(error: ClientError): string;
  /** Returns the ending of a stream that only lacks its final event. */
  completion(): string;
}

/** Reads the events of one stream of a host. */
export interface StreamReader extends StreamEnds {
  /** Classifies an event with data. */
  judge(event: SseEvent): Judgement;
  /** Describes an event with a piece of text; undefined if the event has no text at a usual path. */
  textEventOf?(event: Fields): TextEvent | undefined;
}

/** The shape of an event with a piece of text. Events that differ only in these members are not parsed. */
export interface TextEvent {
  /** Path of the text. The model writes it, and `judge` reports it as written. */
  readonly text: readonly (string | number)[];
  /** Members with strings or whole numbers that only `repeat` uses. */
  readonly others: readonly string[];
  /** Applies the side effects of `judge` for another event of this shape. `number`: the last number among `others`. */
  repeat?(text: string, number: number | undefined): void;
}

/** The classification of a host's event. */
export type Judgement =
  /** `isHidden`: the client did not request it. `mayBeLast`: it is the final event if no other follows. */
  | {
      readonly kind: 'part';
      readonly value: Fields;
      readonly facts: AnswerFacts;
      readonly isHidden: boolean;
      readonly mayBeLast?: true;
    }
  /** The final event. It may also be the last part. */
  | { readonly kind: 'end'; readonly value?: Fields; readonly facts?: AnswerFacts }
  /** The host reports a failed request. `value`: the error; `facts`: usage and output before the failure. */
  | { readonly kind: 'error'; readonly value: unknown; readonly facts: AnswerFacts | undefined }
  /** Not an event of this dialect. */
  | { readonly kind: 'invalid' };
