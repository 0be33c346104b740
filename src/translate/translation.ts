/**
 * A translation lets clients of one dialect use hosts of another: a reader of the one says to the waist (`request.ts`,
 * `answer.ts`) what a writer of the other says from there. All of it is pure.
 */
import type { DialectName } from '../core/dialects.ts';
import type { Fields, ModelRequest, StreamEnds } from '../dialects/dialect.ts';
import type { AnswerWriter, HostReader, ResponseContext, StreamWriter, WholeWriter } from './answer.ts';
import type { Findings } from './findings.ts';
import type { NeutralRequest } from './request.ts';

/** A dialect in which clients may ask hosts of others. */
export interface ClientFormat {
  readonly dialect: DialectName;
  /** Reads a valid request. What cannot be said is in `findings`. */
  read(request: ModelRequest, terms: HostTerms, findings: Findings): ReadRequest;
}

export interface ReadRequest {
  readonly request: NeutralRequest;
  /** Write the answer to it. */
  readonly writers: AnswerWriters;
}

/** Writes the answer to one request for its client. */
export interface AnswerWriters {
  whole(context: ResponseContext): WholeWriter;
  stream(context: ResponseContext): StreamWriter;
}

/** A dialect in which hosts may answer clients of others. */
export interface HostFormat {
  readonly dialect: DialectName;
  /** The body for the host. What cannot be said is in `findings`. */
  write(request: NeutralRequest, terms: HostTerms, findings: Findings): Fields;
  /** Reads an answer of the host. */
  reader(writer: AnswerWriter): HostReader;
}

/** What a translation may need to know of the model. */
export interface HostTerms {
  /** The most output tokens of one answer; undefined if unlimited. */
  readonly maxOutput: number | undefined;
  /** The maximum to write where the request declares none and the host needs one. */
  readonly defaultOutput: number;
  /** Whether the gateway sets cache points for clients that cannot mark them, in the messages dialect; absent for no. */
  readonly setsCachePoints?: boolean;
  /** The host's own name of the model. */
  readonly upstream?: string;
  /** Names of tools of the client's own host that are left out, besides those that are by default. */
  readonly ignoreTools: readonly string[];
}

export type TranslatedRequest =
  | {
      readonly ok: true;
      /** The body for the host, with the client's `model` and `stream`. */
      readonly fields: Fields;
      /** What the host's dialect cannot say and may be left out: names of fields, such as `seed`. */
      readonly ignored: readonly string[];
      readonly response: ResponseTranslation;
    }
  /** What cannot be said, and where: `n: …`. */
  | { readonly ok: false; readonly problem: string };

export interface ResponseTranslation {
  /** A whole answer of the host. It is valid: the host's dialect has read it. */
  answer(answer: Fields, context: ResponseContext): Fields;
  /** Why a valid answer does not answer this request, such as `1 vector for 2 texts`; undefined if it is one. */
  mismatch?(answer: Fields): string | undefined;
  stream(context: ResponseContext): StreamTranslator;
}

/**
 * Translates the events of one stream, as a state machine. It keeps no more than the dialect of
 * the client needs at the end.
 */
export interface StreamTranslator extends StreamEnds {
  /**
   * The events for the client that an event of the host becomes, as server-sent events; empty for
   * none. What ends the client's stream is not among them: see `completion`.
   */
  push(event: Fields): string;
}
