/** Which translations there are, and what a request becomes for a host. */
import type { DialectName } from '../core/dialects.ts';
import type { Fields, ModelRequest } from '../dialects/dialect.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import { membersOf, NestingError } from '../wire/members.ts';
import { CHAT_TO_MESSAGES } from './chat-messages/chat-messages.ts';
import { MESSAGES_TO_CHAT } from './messages-chat/messages-chat.ts';
import { RESPONSES_TO_CHAT } from './responses-chat/responses-chat.ts';
import { RESPONSES_TO_MESSAGES } from './responses-messages/responses-messages.ts';
import type { HostTerms, ResponseTranslation, Translation } from './translation.ts';

/** In the order of preference, where a host speaks several dialects. */
const TRANSLATIONS: readonly Translation[] = [
  CHAT_TO_MESSAGES,
  MESSAGES_TO_CHAT,
  RESPONSES_TO_CHAT,
  RESPONSES_TO_MESSAGES,
];

/** A request as it goes to a host. */
export interface HostRequest {
  /** In the dialect of the host. */
  readonly request: ModelRequest;
  /** Translates the answer; undefined where client and host speak the same dialect. */
  readonly response: ResponseTranslation | undefined;
  /** What was left out, since the host's dialect cannot say it. */
  readonly ignored: readonly string[];
}

export interface TranslatedModel extends HostTerms {
  /** Fields that translated requests leave out, since the model does not know them. */
  readonly ignoreFields: readonly string[];
}

export type Hosted =
  | { readonly ok: true; readonly hosted: HostRequest }
  | { readonly ok: false; readonly problem: string };

/** Whether a client of a dialect can use a host of these. */
export function isReachable(from: DialectName, hostDialects: readonly DialectName[]): boolean {
  return hostDialects.includes(from) || translationFor(from, hostDialects) !== undefined;
}

/** What a request becomes for a host of these dialects, which must be reachable. */
export function hostRequest(
  request: ModelRequest,
  hostDialects: readonly DialectName[],
  model: TranslatedModel,
): Hosted {
  if (hostDialects.includes(request.dialect.name)) {
    return { ok: true, hosted: { request, response: undefined, ignored: [] } };
  }
  const translation = translationFor(request.dialect.name, hostDialects) as Translation;
  const translated = translation.request(request, model);
  if (!translated.ok) return translated;
  const { response } = translated;
  const unknown = model.ignoreFields.filter((name) => translated.fields[name] !== undefined);
  const ignored = [...translated.ignored, ...unknown];
  const fields = without(translated.fields, unknown);
  const text = JSON.stringify(fields);
  try {
    const checked = DIALECTS[translation.to].check({ text, fields, members: membersOf(text, 0) }, request.model);
    return checked.ok ? { ok: true, hosted: { request: checked.request, response, ignored } } : checked;
  } catch (error) {
    if (!(error instanceof NestingError)) throw error;
    return { ok: false, problem: 'the request is nested too deeply to be translated' };
  }
}

function without(fields: Fields, names: readonly string[]): Fields {
  return names.length === 0
    ? fields
    : Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function translationFor(from: DialectName, hostDialects: readonly DialectName[]): Translation | undefined {
  return TRANSLATIONS.find((translation) => translation.from === from && hostDialects.includes(translation.to));
}
