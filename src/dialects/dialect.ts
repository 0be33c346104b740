/**
 * What the gateway needs of a dialect. Each folder beside this file is one; what uses them knows
 * only these interfaces.
 */
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
  /** Whether the client itself requested usage in its stream. */
  readonly includeUsage: boolean;
  /** The declared maximum of output tokens per choice: the largest, if hosts read one of several. */
  readonly maxOutput: number | undefined;
  /** The number of answers requested. */
  readonly choices: number;
  readonly serviceTier: string | undefined;
  /**
   * The most tokens per choice that its host may bill for thinking that it does not show; infinite if it says no bound,
   * undefined if it is up to the model.
   */
  readonly hiddenThinking: number | undefined;
  /** The kinds of answers that it asks for, other than text. */
  readonly asked: readonly AskedModality[];
  /** The most output tokens per choice, where not the request but the model and its kind of output decide. */
  readonly outputAt?: (
    model: Pick<ModelTerms, 'maxOutput' | 'defaultOutput' | 'maxSeconds' | 'imageOutput' | 'isWithoutTokenPrices'>,
  ) => number;
  /** The estimated tokens of a predicted answer. Those that a choice does not use are billed as output of it. */
  readonly predictedTokens: number;
  /** Bytes of audio that are a token of output. */
  readonly audioBytesPerToken: number;
  /** How long the host may keep what the request writes to its prompt cache; undefined if it writes nothing. */
  readonly cacheWrite: CacheLifetime | undefined;
  /** From so many tokens on, its host summarizes the conversation before it goes on; undefined if it does not. */
  readonly summarizesAbove: number | undefined;
  /** The host's own tools that it may call. */
  readonly hostTools: readonly HostTool[];
  /** Fields that its host may read as the number of images in the place of `n`. */
  readonly otherNumbers?: readonly ToolSetting[];
  /** What it says of state at its host; undefined in a dialect without any. */
  readonly state?: HostState;
  /** A field of a form that the gateway sets for the host. */
  readonly hostField?: { readonly name: string; readonly value: string };
  /** Writes a valid answer in the format of the client, if the host was asked for another. Returns a text if it lacks a part. */
  readonly render?: (answer: Fields) => Rendered | string;
}

/** A whole answer as the client gets it. */
export type Rendered =
  | { readonly kind: 'json'; readonly body: Buffer }
  | { readonly kind: 'bytes'; readonly body: Buffer; readonly contentType: string };

/** State that a host keeps from one request to the next. */
export interface HostState {
  /** Whether it is to keep the answer: unless the request says no. */
  readonly isKept: boolean;
  /** What it is to read beside the request. */
  readonly references: readonly Reference[];
  /** Why the request cannot go to a host that keeps nothing for a key; undefined if it can. */
  readonly problem: string | undefined;
  /** Looks why the request cannot go to a host that keeps responses; undefined if it can. */
  readonly keptProblem: () => string | undefined;
  /** The same where the host keeps nothing for it, but does for clients of another provider. */
  readonly foreignProblem: () => string | undefined;
  /** Its host keeps the answer for the key: the config says so. */
  readonly mayKeep?: true;
}

/** A name for something that a host keeps, and the field that has it, such as `input[2].id`. */
export interface Reference {
  readonly kind: 'response' | 'item';
  readonly id: string;
  readonly field: string;
}

/** The object that an attachment is in, and the field of it that holds the data or the name. */
export interface Place {
  readonly holder: Fields;
  readonly field: string;
}

/** Something in an input that is not text. */
export type Attachment =
  /** `size`: undefined if it cannot be told, as for one that the host is to fetch. */
  | { readonly kind: 'image'; readonly size: ImageSize | undefined; readonly isFetched?: true }
  | ({ readonly kind: 'audio' } & SoundLength & Partial<Place>)
  /** Hosts read its text and its pages as images; it has no sound. */
  | ({ readonly kind: 'pdf' } & Place)
  /** Data whose tokens at a host cannot be known. `hasSound`: it is audio or a film. */
  | ({ readonly kind: 'opaque'; readonly hasSound?: boolean } & Place)
  /**
   * A name for state or content that the gateway cannot see: a file at the host, or an address for it to fetch. `ofTool`: a
   * tool of the host names it. `hasSound`: by its field or type it is audio or a film.
   */
  | ({ readonly kind: 'reference'; readonly ofTool?: true; readonly hasSound?: boolean } & Place);

/** Gets what an input holds, as it is walked. */
export interface InputVisitor {
  text(text: string): void;
  attachment(attachment: Attachment): void;
}

/** The longest lifetime that a request asks for. */
export type CacheLifetime = '5m' | '1h';

export type Checked = { readonly ok: true; readonly request: ModelRequest } | InvalidRequest;

export interface InvalidRequest {
  readonly ok: false;
  /** Such as `n: expected a whole number from 1 to 128`. */
  readonly problem: string;
  /** What a client library can act on. */
  readonly details?: Fields;
}

/** The fields to set in the body for the upstream. */
export interface UpstreamFields {
  /** The upstream's own name for the model. */
  readonly model: string;
  /** Request usage at the end of the stream. */
  readonly askForUsage: boolean;
  /** A maximum of output tokens, to be set in this field in the place of any other that the request declares. */
  readonly cap: { readonly field: string; readonly tokens: number } | undefined;
}

/** What the path of a request says in dialects whose bodies do not. */
export interface Address {
  readonly model: string;
  readonly stream: boolean;
  /** Whether its body holds several requests. */
  readonly isBatch?: boolean;
}

/** The wire format of an API, between clients and the gateway, and between the gateway and hosts. */
export interface Dialect {
  readonly name: DialectName;
  /** For messages: `The provider sent a response that is not in the <title> format.` */
  readonly title: string;
  /** Where its requests go, below the base URL of a host. */
  readonly path: string;
  /** The same where it depends on the request. `model`: as its host names it. */
  readonly pathFor?: (request: ModelRequest, model: string) => string;
  /** Headers of a client that reach its host, in lower case. */
  readonly headers: readonly string[];
  /** The field of its maximum of output tokens; undefined if its answers have none. */
  readonly maximumField: string | undefined;
  /** Fields of answers and events that a model may have written, or that name nothing secret. */
  readonly answerFields: ReadonlySet<string>;

  /** How much of an event is buffered to read it, in bytes. Longer ones are passed on in pieces. */
  readonly maxEventBytes: number;

  /** The body with what its path says, as `check` expects it, where a body does not say it itself. */
  readonly place?: (body: JsonBody, address: Address | undefined) => BodyResult;
  /** Validates every field that the gateway acts on, and reports the first problem. */
  check(body: JsonBody, model: string): Checked;
  /** The request for the hosts of a model, if it depends on the prices of the model. */
  readonly forModel?: (request: ModelRequest, model: ModelTerms) => Checked;
  /** Passes every text and attachment of the input to `visit`. Returns the tokens of the format itself. */
  walkInput(request: ModelRequest, visit: InputVisitor): number;
  /** The request body for a host. */
  edit(request: ModelRequest, fields: UpstreamFields): string;

  /** Reads a whole answer. `choices` is undefined if it is none. */
  readAnswer(answer: Fields): AnswerFacts;
  /** Whether its requests are forms with files, and not JSON. */
  readonly isForm?: true;
  /** What a whole answer says that is no JSON; undefined in a dialect that has none. */
  readBytes?(answer: Buffer, request: ModelRequest): AnswerFacts;
  /** Whether answers that are no JSON are passed on as they come where nothing in them is billed. */
  readonly passesBytesOn?: true;
  /** Whether hosts answer whole where a model cannot stream, as the format says. */
  readonly mayIgnoreStream?: true;
  /** Makes a whole answer of the pieces of a stream. Set in a dialect whose hosts may stream an array of JSON, too. */
  joinPieces?(pieces: readonly Fields[]): Fields;
  /** Begins to read a stream of events. `request`: undefined for a stream that no host answers. */
  startStream(requestId: string, request?: ModelRequest): StreamReader;

  /** The body of an error response. */
  errorBody(error: ClientError, requestId: string): string;
}

/** What the gateway itself writes into a stream for a client. */
export interface StreamEnds {
  /** The end of a stream that fails. */
  failure(error: ClientError): string;
  /** The end of a stream that is complete, but for its final event. */
  completion(): string;
}

/** Reads the events of one stream of a host. */
export interface StreamReader extends StreamEnds {
  /** Reads an event that has data. */
  judge(event: SseEvent): Judgement;
  /** Describes an event that holds a piece of text; undefined for an event that holds none in a usual place. */
  textEventOf?(event: Fields): TextEvent | undefined;
}

/** An event that holds a piece of text. Events that differ from it in these members alone are not parsed. */
export interface TextEvent {
  /** The path of the text. A model writes it, and `judge` reports it as written. */
  readonly text: readonly (string | number)[];
  /** Names of members of the event, strings or whole numbers, that `judge` does not use except as `repeat` does. */
  readonly others: readonly string[];
  /** Does for another such event what `judge` does beside its result. `number`: the value of the last of the others that is one. */
  repeat?(text: string, number: number | undefined): void;
}

/** What an event of a host is. */
export type Judgement =
  /** `isHidden`: the client did not ask for it. `mayBeLast`: if none follows, it is the final event. */
  | {
      readonly kind: 'part';
      readonly value: Fields;
      readonly facts: AnswerFacts;
      readonly isHidden: boolean;
      readonly mayBeLast?: true;
    }
  /** The final event. It may also be the last part. */
  | { readonly kind: 'end'; readonly value?: Fields; readonly facts?: AnswerFacts }
  /** The host reports that the request has failed. `value`: what it says; `facts`: of work all the same. */
  | { readonly kind: 'error'; readonly value: unknown; readonly facts: AnswerFacts | undefined }
  /** Not an event of this dialect. */
  | { readonly kind: 'invalid' };
