/** Makes a translation for clients of responses from what is different for each dialect of a host. */

import type { DialectName } from '../../core/dialects.ts';
import type { ClientError } from '../../core/errors.ts';
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { Findings } from '../chat-messages/findings.ts';
import type { HostTerms, ResponseContext, StreamTranslator, Translation } from '../translation.ts';
import type { ToolNames } from './tool-names.ts';
import { type ResponseSource, ResponseWriter } from './writer.ts';

/** Translates a request. What cannot be said is in `findings`. */
export type TranslateRequest = (request: ModelRequest, terms: HostTerms, findings: Findings) => TranslatedFields;

export interface TranslatedFields {
  /** For the host. */
  readonly fields: Fields;
  readonly names: ToolNames;
}

/** Reads the answer of a host, or the events of a stream of it, into a response. */
export interface HostReader {
  readWhole(answer: Fields): void;
  readEvent(event: Fields): void;
}

export type ReaderFor = (writer: ResponseWriter) => HostReader;

export function responsesTranslation(to: DialectName, translate: TranslateRequest, readerFor: ReaderFor): Translation {
  return {
    from: 'responses',
    to,
    request(request, terms) {
      const findings = new Findings();
      const { fields, names } = translate(request, terms, findings);
      if (findings.problem !== undefined) return { ok: false, problem: findings.problem };
      const source = { request: { ...request.body.fields, model: request.model }, names };
      return {
        ok: true,
        fields,
        ignored: findings.ignored,
        response: {
          answer: (answer, context) => {
            const writer = new ResponseWriter(source, context, { isStream: false });
            readerFor(writer).readWhole(answer);
            return writer.whole();
          },
          stream: (context) => new ResponseStream(source, context, readerFor),
        },
      };
    },
  };
}

class ResponseStream implements StreamTranslator {
  readonly #writer: ResponseWriter;
  readonly #reader: HostReader;

  constructor(source: ResponseSource, context: ResponseContext, readerFor: ReaderFor) {
    this.#writer = new ResponseWriter(source, context, { isStream: true });
    this.#reader = readerFor(this.#writer);
  }

  push(event: Fields): string {
    this.#writer.start();
    this.#reader.readEvent(event);
    return this.#writer.take();
  }

  completion(): string {
    return this.#writer.completion();
  }

  failure(error: ClientError): string {
    return this.#writer.failure(error);
  }
}
