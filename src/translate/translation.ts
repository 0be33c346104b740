/** Types of translations: a reader of one dialect produces the neutral form, and a writer of another consumes it. Pure. */
import type { DialectName } from '../core/dialects.ts';
import type { Fields, ModelRequest, StreamEnds } from '../dialects/dialect.ts';
import type { AnswerWriter, HostReader, ResponseContext, StreamWriter, WholeWriter } from './answer.ts';
import type { Findings } from './findings.ts';
import type { NeutralRequest } from './request.ts';

/** A client dialect that can be translated. */
export interface ClientFormat {
  readonly dialect: DialectName;
  /** Reads a valid request. Untranslatable fields are added to `findings`. */
  read(request: ModelRequest, terms: HostTerms, findings: Findings): ReadRequest;
}

export interface ReadRequest {
  readonly request: NeutralRequest;
  /** Writers of the answer. */
  readonly writers: AnswerWriters;
}

/** Creates writers for the answer to one request. */
export interface AnswerWriters {
  whole(context: ResponseContext): WholeWriter;
  stream(context: ResponseContext): StreamWriter;
}

/** A host dialect that can be translated. */
export interface HostFormat {
  readonly dialect: DialectName;
  /** Writes the body. Untranslatable fields are added to `findings`. */
  write(request: NeutralRequest, terms: HostTerms, findings: Findings): Fields;
  /** Creates a reader of the host's answer. */
  reader(writer: AnswerWriter): HostReader;
}

/** Model and provider settings that affect a translation. */
export interface HostTerms {
  /** Maximum output tokens; undefined if unlimited. */
  readonly maxOutput: number | undefined;
  /** Default maximum, for hosts that require one. */
  readonly defaultOutput: number;
  /** Whether to set cache points in the messages dialect for clients that cannot; absent for no. */
  readonly setsCachePoints?: boolean;
  /** The host's name of the model. */
  readonly upstream?: string;
  /** Further host-run tools to drop, in addition to the default ones. */
  readonly ignoreTools: readonly string[];
}

export type TranslatedRequest =
  | {
      readonly ok: true;
      /** The body for the host, with the client's `model` and `stream`. */
      readonly fields: Fields;
      /** Names of dropped fields, such as `seed`. */
      readonly ignored: readonly string[];
      readonly response: ResponseTranslation;
    }
  /** The first untranslatable field and the reason: `n: …`. */
  | { readonly ok: false; readonly problem: string };

export interface ResponseTranslation {
  /** Translates an answer already validated by the host's dialect. */
  answer(answer: Fields, context: ResponseContext): Fields;
  /** Returns why a valid answer does not fit the request, such as `1 vector for 2 texts`; undefined if it fits. */
  mismatch?(answer: Fields): string | undefined;
  stream(context: ResponseContext): StreamTranslator;
}

/** State machine that translates one stream. It buffers only data that the client's dialect repeats at the end. */
export interface StreamTranslator extends StreamEnds {
  /** Returns the client's server-sent events for one event of the host, possibly empty. `completion` returns the final events. */
  push(event: Fields): string;
}
