/** Reads the system prompt and messages as turns. */
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, isEmptyValue } from '../findings.ts';
import { expectMessage } from '../message-fields.ts';
import type { Call, Output, Part, Turn, Written } from '../request.ts';
import { expectFields, type Located, locatedBlocks, textPart, textParts, toParts } from './messages-parts-reader.ts';

/** Neighbouring messages of one role, which form one turn in this dialect. */
interface Speech {
  readonly role: unknown;
  readonly where: string;
  readonly blocks: readonly Located[];
}

export function readTurns(fields: Fields, findings: Findings): readonly Turn[] {
  const list = findings.array(fields.messages ?? '', 'messages');
  const messages = list.map((message, index) => readMessage(message, `messages[${index}]`, findings));
  const firstAnswer = messages.findIndex(({ role }) => role === 'assistant');
  const opening = firstAnswer < 0 ? messages : messages.slice(0, firstAnswer);
  // System messages before the first answer join the system prompt, because many models accept them only at the start.
  const early = opening.filter(isSystem);
  const others = [...opening.filter((message) => !isSystem(message)), ...messages.slice(opening.length)];
  const system = [...locatedBlocks(fields.system, 'system', findings), ...early.flatMap(({ blocks }) => blocks)];
  const speeches = mergeNeighbours(others);
  const last = speeches.at(-1);
  if (last?.role === 'assistant') {
    findings.refuse(last.where, 'this model cannot continue a given answer; end with a user message');
  }
  const turns = speeches.flatMap((speech) => turnsOf(speech, findings));
  if (system.length === 0) return turns;
  return [{ kind: 'instructions', parts: textParts(system, findings) }, ...turns];
}

function isSystem({ role }: Speech): boolean {
  return role === 'system';
}

const FIELDS: ReadonlySet<string> = new Set(['role', 'content']);

function readMessage(value: unknown, where: string, findings: Findings): Speech {
  const message = findings.object(value ?? '', where) ?? {};
  const { cache_control: mark, ...others } = message;
  if (!isEmptyValue(mark)) findings.ignore('cache_control');
  expectMessage(FIELDS, others, { scope: 'messages', where }, findings);
  return { role: message.role, where, blocks: locatedBlocks(message.content ?? '', `${where}.content`, findings) };
}

function mergeNeighbours(messages: readonly Speech[]): readonly Speech[] {
  const speeches: { role: unknown; where: string; blocks: Located[] }[] = [];
  for (const { role, where, blocks } of messages) {
    const last = speeches.at(-1);
    // A loop, because spreading many blocks would exceed the maximum number of arguments.
    if (last !== undefined && last.role === role) for (const block of blocks) last.blocks.push(block);
    else speeches.push({ role, where, blocks: [...blocks] });
  }
  return speeches;
}

function turnsOf({ role, where, blocks }: Speech, findings: Findings): readonly Turn[] {
  if (role === 'user') return readUserTurn(blocks, findings);
  if (role === 'assistant') return [{ kind: 'assistant', written: readWritten(blocks, findings), outputs: [] }];
  if (role === 'system') return [{ kind: 'instructions', parts: textParts(blocks, findings) }];
  findings.refuse(`${where}.role`, 'expected user, assistant or system');
  return [];
}

/** Reads a user turn. Tool results must directly follow their calls, so they are moved to the front. */
function readUserTurn(blocks: readonly Located[], findings: Findings): readonly Turn[] {
  const isResult = ({ block }: Located) => block.type === 'tool_result';
  const results = blocks.filter(isResult).map((located) => readResult(located, findings));
  const said = blocks.filter((located) => !isResult(located)).flatMap((located) => toParts(located, findings));
  const parts = [...results.flatMap(({ attachments }) => attachments), ...said];
  const outputs = results.map(({ output }) => output);
  return [
    ...(outputs.length > 0 ? [{ kind: 'assistant', written: [], outputs } as const] : []),
    ...(parts.length > 0 || outputs.length === 0 ? [{ kind: 'user', parts } as const] : []),
  ];
}

/** `attachments`: non-text parts for the user turn, because few dialects permit them in outputs. */
interface Result {
  readonly output: Output;
  readonly attachments: readonly Part[];
}

const SEE_NEXT = 'The attachments of this result are in the next user message.';
/** Separates the texts of blocks. */
const SEPARATOR = '\n\n';

function readResult({ block, where }: Located, findings: Findings): Result {
  expectFields(['type', 'tool_use_id', 'content', 'is_error'], block, where, findings);
  const callId = findings.text(block.tool_use_id, `${where}.tool_use_id`);
  const parts = locatedBlocks(block.content, `${where}.content`, findings).flatMap((each) =>
    resultParts(each, findings),
  );
  const attachments = parts.filter(({ kind }) => kind !== 'text');
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const text = (attachments.length > 0 ? [...texts, SEE_NEXT] : texts).join(SEPARATOR);
  return {
    // Few dialects can mark an output as failed.
    output: { callId, content: block.is_error === true ? `Error: ${text}` : text },
    attachments: attachments.length === 0 ? [] : [textPart(`Attachments of the result of ${callId}:`), ...attachments],
  };
}

function resultParts(located: Located, findings: Findings): readonly Part[] {
  const { block, where } = located;
  if (block.type !== 'tool_reference') return toParts(located, findings);
  expectFields(['type', 'tool_name'], block, where, findings);
  return [textPart(`The tool ${findings.text(block.tool_name, `${where}.tool_name`)} can be called now.`)];
}

function readWritten(blocks: readonly Located[], findings: Findings): readonly Written[] {
  /** The parts of one text, which a host may have split anywhere. */
  const parts: Part[] = [];
  const written: Written[] = [];
  for (const located of blocks) {
    const { block, where } = located;
    if (block.type === 'thinking' || block.type === 'redacted_thinking') {
      written.push({ kind: 'reasoning', block, field: `messages.${block.type}` });
    } else if (block.type === 'tool_use') written.push(readCall(block, where, findings));
    else {
      if (parts.length === 0) written.push({ kind: 'parts', parts });
      for (const part of textParts([located], findings)) parts.push(part);
    }
  }
  return parts.length === 0 ? [{ kind: 'parts', parts }, ...written] : written;
}

function readCall(block: Fields, where: string, findings: Findings): Call {
  expectFields(['type', 'id', 'name', 'input', 'caller'], block, where, findings);
  const caller = findings.object(block.caller, `${where}.caller`);
  if (caller !== undefined && caller.type !== 'direct') {
    findings.refuse(`${where}.caller`, 'this model calls tools directly; leave out calls by other tools');
  }
  const hostName = findings.text(block.name, `${where}.name`);
  const value = findings.object(block.input, `${where}.input`) ?? {};
  return { kind: 'call', id: findings.text(block.id, `${where}.id`), hostName, input: { value } };
}
