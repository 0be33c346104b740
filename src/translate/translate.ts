/** Which translations there are, and what a request becomes for a host. */
import type { DialectName } from '../core/dialects.ts';
import { withLongIntegers } from '../core/json.ts';
import type { Fields, ModelRequest } from '../dialects/dialect.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import { membersOf, NestingError } from '../wire/members.ts';
import { ChatAnswerReader } from './chat/chat-answer-reader.ts';
import { readChatRequest } from './chat/chat-request-reader.ts';
import { writeChatRequest } from './chat/chat-request-writer.ts';
import { ConverseAnswerReader } from './converse/converse-answer-reader.ts';
import { writeConverseRequest } from './converse/converse-request-writer.ts';
import { embeddingHostOf, isOfEmbeddings, translateEmbeddings } from './embeddings.ts';
import { Findings } from './findings.ts';
import { GeminiAnswerReader } from './gemini/gemini-answer-reader.ts';
import { readGeminiRequest } from './gemini/gemini-request-reader.ts';
import { writeGeminiRequest } from './gemini/gemini-request-writer.ts';
import { MessagesAnswerReader } from './messages/messages-answer-reader.ts';
import { readMessagesRequest } from './messages/messages-request-reader.ts';
import { writeMessagesRequest } from './messages/messages-request-writer.ts';
import type { NeutralRequest } from './request.ts';
import { readResponsesRequest } from './responses/responses-request-reader.ts';
import type {
  AnswerWriters,
  ClientFormat,
  HostFormat,
  HostTerms,
  ResponseTranslation,
  TranslatedRequest,
} from './translation.ts';

const CLIENTS: readonly ClientFormat[] = [
  { dialect: 'chat', read: readChatRequest },
  { dialect: 'messages', read: readMessagesRequest },
  { dialect: 'responses', read: readResponsesRequest },
  { dialect: 'gemini', read: readGeminiRequest },
];
/** In the order of preference, where a host speaks several dialects. No host is asked in responses for clients of others. */
const HOSTS: readonly HostFormat[] = [
  { dialect: 'chat', write: writeChatRequest, reader: (writer) => new ChatAnswerReader(writer) },
  { dialect: 'messages', write: writeMessagesRequest, reader: (writer) => new MessagesAnswerReader(writer) },
  { dialect: 'gemini', write: writeGeminiRequest, reader: (writer) => new GeminiAnswerReader(writer) },
  { dialect: 'converse', write: writeConverseRequest, reader: (writer) => new ConverseAnswerReader(writer) },
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
  return spokenFor(from, hostDialects) !== undefined;
}

/** The dialect of a host in which clients of this one ask it; undefined if there is none. */
export function spokenFor(from: DialectName, dialects: readonly DialectName[]): DialectName | undefined {
  if (dialects.includes(from)) return from;
  return embeddingHostOf(from, dialects) ?? (clientOf(from) && hostOf(dialects)?.dialect);
}

/** What a request becomes for a host of these dialects, which must be reachable. */
export function hostRequest(
  request: ModelRequest,
  hostDialects: readonly DialectName[],
  model: TranslatedModel,
): Hosted {
  const dialect = spokenFor(request.dialect.name, hostDialects) as DialectName;
  if (dialect === request.dialect.name) return { ok: true, hosted: { request, response: undefined, ignored: [] } };
  const translated = translate(request, dialect, model);
  if (!translated.ok) return translated;
  const { response } = translated;
  const unknown = model.ignoreFields.filter((name) => translated.fields[name] !== undefined);
  const ignored = [...translated.ignored, ...unknown];
  const fields = without(translated.fields, unknown);
  const text = JSON.stringify(fields);
  try {
    const checked = DIALECTS[dialect].check({ text, fields, members: membersOf(text, 0) }, request.model);
    return checked.ok ? { ok: true, hosted: { request: checked.request, response, ignored } } : checked;
  } catch (error) {
    if (!(error instanceof NestingError)) throw error;
    return { ok: false, problem: 'the request is nested too deeply to be translated' };
  }
}

/** Translates a valid request for a host of another dialect, which must be reachable. */
export function translate(request: ModelRequest, to: DialectName, terms: HostTerms): TranslatedRequest {
  if (isOfEmbeddings(to)) return translateEmbeddings(request, to, terms);
  const client = clientOf(request.dialect.name) as ClientFormat;
  const host = hostOf([to]) as HostFormat;
  const findings = new Findings();
  const { body } = request;
  const exact = { ...request, body: { ...body, fields: withLongIntegers(body.text, body.fields) } };
  const { request: neutral, writers } = client.read(exact, terms, findings);
  const fields = host.write({ ...neutral, maxOutput: maximumOf(neutral, terms) }, terms, findings);
  if (findings.problem !== undefined) return { ok: false, problem: findings.problem };
  return { ok: true, fields, ignored: findings.ignored, response: responseTranslation(host, writers) };
}

/**
 * No answer is longer than the model's own maximum. Clients that know another model better declare
 * more, which many hosts refuse.
 */
function maximumOf({ maxOutput }: NeutralRequest, terms: HostTerms): number | undefined {
  return maxOutput === undefined ? undefined : Math.min(maxOutput, terms.maxOutput ?? maxOutput);
}

function responseTranslation(host: HostFormat, writers: AnswerWriters): ResponseTranslation {
  return {
    answer(answer, context) {
      const writer = writers.whole(context);
      host.reader(writer).readWhole(answer);
      return writer.whole();
    },
    stream(context) {
      const writer = writers.stream(context);
      const reader = host.reader(writer);
      return {
        push(event) {
          reader.readEvent(event);
          return writer.take();
        },
        completion() {
          reader.end();
          return writer.completion();
        },
        failure: (error) => writer.failure(error),
      };
    },
  };
}

function without(fields: Fields, names: readonly string[]): Fields {
  return names.length === 0
    ? fields
    : Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function clientOf(from: DialectName): ClientFormat | undefined {
  return CLIENTS.find(({ dialect }) => dialect === from);
}

function hostOf(dialects: readonly DialectName[]): HostFormat | undefined {
  return HOSTS.find(({ dialect }) => dialects.includes(dialect));
}
