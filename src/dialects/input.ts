/** Estimates the input tokens of a request before it is sent, and samples its text for exact counting. */
import { isObject } from '../core/json.ts';
import type { InputTerms } from '../core/model-terms.ts';
import { TextSample } from '../wire/text-sample.ts';
import { estimateTokensOf } from '../wire/token-estimate.ts';
import { attachmentTokens, type Reading, referenceIn } from './attachments.ts';
import type { Attachment, Fields, InputVisitor, ModelRequest } from './dialect.ts';
import type { ToolReference } from './host-tools.ts';

/** Overhead of a format per message, for the role and the separator. */
const TOKENS_PER_MESSAGE = 3;

/** The parts of an input. */
export interface InputParts {
  /** The estimated tokens of its texts. */
  readonly textTokens: number;
  /** The format's overhead per message, and inputs that the client sent as tokens. */
  readonly formatTokens: number;
  readonly attachments: readonly Attachment[];
}

/** An input before its texts are estimated. */
export interface Input extends Omit<InputParts, 'textTokens'> {
  readonly texts: readonly string[];
}

/** Collects everything in the body that a host may make tokens of. */
export function readInput(request: ModelRequest): Input {
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  const formatTokens = request.dialect.walkInput(request, {
    text: (text) => texts.push(text),
    attachment: (attachment) => attachments.push(attachment),
  });
  return { texts, formatTokens, attachments };
}

/** Reads the input and estimates the tokens of its texts. */
export function inputParts(request: ModelRequest): InputParts {
  const { texts, formatTokens, attachments } = readInput(request);
  return { textTokens: estimateTokensOf(texts), formatTokens, attachments };
}

/** Returns the estimated input tokens at a model. Attachments without an estimate count as the whole context window. */
export function tokensAt({ textTokens, formatTokens, attachments }: InputParts, terms: InputTerms): number {
  return withAttachments(textTokens + formatTokens, attachments, terms);
}

function withAttachments(tokens: number, attachments: readonly Attachment[], terms: InputTerms): number {
  if (attachments.length === 0) return tokens;
  let sum = tokens;
  let isBounded = true;
  for (const attachment of attachments) {
    const own = attachmentTokens(attachment, terms);
    if (own === undefined) isBounded = false;
    else sum += own;
  }
  return isBounded ? sum : Math.max(sum, terms.contextWindow ?? 0);
}

/** A sample of a request's text for exact counting, and the estimated tokens of its other input. */
export interface InputSample {
  readonly text: TextSample;
  readonly extraTokens: number;
}

export function sampleInput(request: ModelRequest, terms: InputTerms): InputSample {
  const text = new TextSample();
  const attachments: Attachment[] = [];
  const formatTokens = request.dialect.walkInput(request, {
    text: (piece) => text.add(piece),
    attachment: (attachment) => attachments.push(attachment),
  });
  return { text, extraTokens: withAttachments(formatTokens, attachments, terms) };
}

/** Classifies the top-level fields of a body that are not messages. */
export interface FieldKinds {
  /** Settings, of which hosts make no tokens. All unlisted fields count by name and value. */
  readonly settings: ReadonlySet<string>;
  /** Other fields of the format. Only their values count. */
  readonly unnamed: ReadonlySet<string>;
  /** Walked by the dialect itself. */
  readonly walked: ReadonlySet<string>;
}

/** Visits the texts of the fields that are not messages, and the references in unknown fields. */
export function walkFields(fields: Fields, { settings, unnamed, walked }: FieldKinds, visit: InputVisitor): void {
  for (const name in fields) {
    if (settings.has(name) || walked.has(name)) continue;
    const value = fields[name];
    const isKnown = unnamed.has(name);
    if (!isKnown) visit.text(name);
    if (typeof value === 'string') visit.text(value);
    // Hosts show tool definitions to the model in similar text.
    else if (typeof value === 'object' && value !== null) {
      visit.text(JSON.stringify(value));
      if (!isKnown) findReferences(value, visit);
    }
  }
  const reference = referenceIn(fields);
  if (reference !== undefined) visit.attachment(reference);
}

/** Visits the references of the host's tools in a body. */
export function visitToolReferences(fields: Fields, references: readonly ToolReference[], visit: InputVisitor): void {
  for (const { where } of references)
    visit.attachment({ kind: 'reference', ofTool: true, holder: fields, field: where });
}

/** MAX_JSON_DEPTH bounds the recursion. */
function findReferences(value: unknown, visit: InputVisitor): void {
  if (Array.isArray(value)) for (const item of value) findReferences(item, visit);
  else if (isObject(value)) {
    const reference = referenceIn(value);
    if (reference !== undefined) visit.attachment(reference);
    for (const item of Object.values(value)) findReferences(item, visit);
  }
}

/**
 * Reads an object within a message; undefined if its members count as usual. `name`: its field, or with `[]` the field of
 * the array that contains it.
 */
export type ReadObject = (name: string, value: Fields) => Reading | undefined;

/** Visits the texts and attachments of a message, except its role. Returns the overhead per message. */
export function walkMessage(message: Fields, readObject: ReadObject, visit: InputVisitor): number {
  const walk = new Walk(readObject, visit);
  walk.reference(message);
  for (const name in message) {
    // The checks refuse unknown roles.
    if (name === 'role') continue;
    if (name !== 'content') visit.text(name);
    walk.member(name, message[name]);
  }
  return TOKENS_PER_MESSAGE;
}

/** Parts of past answers that cite sources or results. The cited content is not part of the input. */
const MENTIONS: ReadonlySet<string> = new Set(['annotations', 'citations', 'results']);
const MENTIONING: ReadonlySet<unknown> = new Set(['code_execution_output', 'bash_code_execution_output']);

/** Visits every text and name within a value. MAX_JSON_DEPTH bounds the recursion. */
class Walk {
  readonly #readObject: ReadObject;
  readonly #visit: InputVisitor;
  #isMention = false;

  constructor(readObject: ReadObject, visit: InputVisitor) {
    this.#readObject = readObject;
    this.#visit = visit;
  }

  member(name: string, value: unknown): void {
    const wasMention = this.#isMention;
    this.#isMention ||= MENTIONS.has(name);
    this.#value(name, value);
    this.#isMention = wasMention;
  }

  #value(name: string, value: unknown): void {
    if (typeof value === 'string') this.#visit.text(value);
    else if (typeof value === 'number') this.#visit.text(String(value));
    else if (Array.isArray(value))
      for (const item of value) this.#value(name.endsWith('[]') ? name : `${name}[]`, item);
    else if (isObject(value)) this.#object(name, value);
  }

  reference(value: Fields): void {
    const reference = this.#isMention || MENTIONING.has(value.type) ? undefined : referenceIn(value);
    if (reference !== undefined) this.#visit.attachment(reference);
  }

  #object(name: string, value: Fields): void {
    this.reference(value);
    const reading = this.#readObject(name, value);
    for (const attachment of reading?.attachments ?? []) this.#visit.attachment(attachment);
    for (const text of reading?.texts ?? []) this.#visit.text(text);
    const others = reading?.others ?? value;
    for (const member in others) {
      this.#visit.text(member);
      this.member(member, others[member]);
    }
  }
}
