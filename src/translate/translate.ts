/** Selects and applies translations between dialects. */
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
/** In order of preference for hosts with several dialects. Responses is never used as a target. */
const HOSTS: readonly HostFormat[] = [
  { dialect: 'chat', write: writeChatRequest, reader: (writer) => new ChatAnswerReader(writer) },
  { dialect: 'messages', write: writeMessagesRequest, reader: (writer) => new MessagesAnswerReader(writer) },
  { dialect: 'gemini', write: writeGeminiRequest, reader: (writer) => new GeminiAnswerReader(writer) },
  { dialect: 'converse', write: writeConverseRequest, reader: (writer) => new ConverseAnswerReader(writer) },
];

/** A request as sent to a host. */
export interface HostRequest {
  /** The request in the host's dialect. */
  readonly request: ModelRequest;
  /** Translates the answer; undefined if client and host use the same dialect. */
  readonly response: ResponseTranslation | undefined;
  /** Names of fields dropped because the host's dialect lacks them. */
  readonly ignored: readonly string[];
}

export interface TranslatedModel extends HostTerms {
  /** Fields to drop from translated requests because the model does not support them. */
  readonly ignoreFields: readonly string[];
}

export type Hosted =
  | { readonly ok: true; readonly hosted: HostRequest }
  | { readonly ok: false; readonly problem: string };

/** Whether clients of a dialect can use a host with these dialects. */
export function isReachable(from: DialectName, hostDialects: readonly DialectName[]): boolean {
  return hostDialectFor(from, hostDialects) !== undefined;
}

/** Returns the host dialect used for clients of a dialect; undefined if there is no translation. */
export function hostDialectFor(from: DialectName, dialects: readonly DialectName[]): DialectName | undefined {
  if (dialects.includes(from)) return from;
  return embeddingHostOf(from, dialects) ?? (clientOf(from) && hostOf(dialects)?.dialect);
}

/** Converts a request for a host with these dialects, one of which must be reachable. */
export function hostRequest(
  request: ModelRequest,
  hostDialects: readonly DialectName[],
  model: TranslatedModel,
): Hosted {
  const dialect = hostDialectFor(request.dialect.name, hostDialects) as DialectName;
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

/** Translates a valid request to another dialect, which must be reachable. */
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
 * Limits the requested maximum to the model's own. Many hosts reject a larger one, which clients written for other models send.
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
