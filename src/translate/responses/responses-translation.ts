/** Makes a translation for clients of responses from what is different for each dialect of a host. */

import type { DialectName } from '../../core/dialects.ts';
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import type { AnswerWriter, HostReader } from '../answer.ts';
import { Findings } from '../findings.ts';
import type { ToolNames } from '../tool-names.ts';
import { type HostTerms, responseTranslation, type Translation } from '../translation.ts';
import { ResponseWriter } from './writer.ts';

/** Translates a request. What cannot be said is in `findings`. */
export type TranslateRequest = (request: ModelRequest, terms: HostTerms, findings: Findings) => TranslatedFields;

export interface TranslatedFields {
  /** For the host. */
  readonly fields: Fields;
  readonly names: ToolNames;
}

export type ReaderFor = (writer: AnswerWriter) => HostReader;

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
        response: responseTranslation(readerFor, {
          whole: (context) => new ResponseWriter(source, context, { isStream: false }),
          stream: (context) => new ResponseWriter(source, context, { isStream: true }),
        }),
      };
    },
  };
}
