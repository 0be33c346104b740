/** Reads the messages of a chat request as turns. */
import { isObject, objectOf, parseArguments } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import { expectMessage } from '../message-fields.ts';
import type { Call, Output, Part, Turn, Written } from '../request.ts';
import { TurnList } from '../turn-list.ts';
import { readCacheControl, withCacheControl, writtenWithCacheControl } from './cache-control.ts';
import { ASSISTANT_PARTS, INPUT_PARTS, partsOf, readImage, TEXT_PARTS } from './chat-parts-reader.ts';

/** A deprecated function call, which has no id. */
interface FunctionCall {
  readonly name: unknown;
  readonly id: string;
}

export function readTurns(messages: readonly Fields[], findings: Findings): readonly Turn[] {
  const list = new TurnList();
  let lastCall: FunctionCall | undefined;
  for (const [index, message] of messages.entries()) {
    const where = `messages[${index}]`;
    switch (message.role) {
      case 'system':
      case 'developer':
        list.add({ kind: 'instructions', parts: readPlain(message, TEXT_PARTS, where, findings) });
        break;
      case 'user':
        list.add({ kind: 'user', parts: readPlain(message, INPUT_PARTS, where, findings) });
        break;
      case 'assistant': {
        const id = `call_${index}`;
        if (isObject(message.function_call)) lastCall = { name: message.function_call.name, id };
        list.addWritten(readAssistant(message, id, where, findings));
        break;
      }
      case 'tool':
        list.addOutput(readToolMessage(message, where, findings), list.open);
        break;
      default:
        list.addOutput(readFunctionMessage(message, lastCall, where, findings), list.open);
    }
  }
  return list.turns;
}

const PLAIN_FIELDS: ReadonlySet<string> = new Set(['role', 'content', 'cache_control', 'name']);

function readPlain(message: Fields, types: readonly string[], where: string, findings: Findings): readonly Part[] {
  expectMessage(PLAIN_FIELDS, message, { scope: 'messages', where }, findings);
  ignoreName(message, findings);
  const parts = partsOf(message.content, types, `${where}.content`, findings);
  return withCacheControl(parts, message.cache_control, where, findings);
}

const ASSISTANT_FIELDS: ReadonlySet<string> = new Set([
  ...PLAIN_FIELDS,
  'refusal',
  'tool_calls',
  'function_call',
  'thinking_blocks',
  'reasoning_content',
  'images',
]);

/** `id`: id for a deprecated function call. */
function readAssistant(message: Fields, id: string, where: string, findings: Findings): readonly Written[] {
  expectMessage(ASSISTANT_FIELDS, message, { scope: 'messages', where }, findings);
  ignoreName(message, findings);
  const { thinking_blocks: thinking, refusal, function_call: functionCall } = message;
  const blocks = listOf(thinking, `${where}.thinking_blocks`, findings);
  const reasoning = blocks.map(([block, at]) => readThinking(block, at, findings));
  const said = partsOf(message.content, ASSISTANT_PARTS, `${where}.content`, findings);
  const refused = isPresent(refusal) ? findings.text(refusal, `${where}.refusal`) : '';
  const parts: readonly Part[] = [
    ...said,
    ...(refused === '' ? [] : [{ kind: 'refusal', text: refused } as const]),
    ...listOf(message.images, `${where}.images`, findings).flatMap(([item, at]) => readPastImage(item, at, findings)),
  ];
  const written: readonly Written[] = [
    ...reasoning,
    ...(parts.length > 0 ? [{ kind: 'parts', parts } as const] : []),
    ...(isPresent(functionCall) ? [readFunctionCall(id, functionCall, `${where}.function_call`, findings)] : []),
    ...listOf(message.tool_calls, `${where}.tool_calls`, findings).map(([each, at]) => readCall(each, at, findings)),
  ];
  const { reasoning_content: unsigned } = message;
  // Duplicates the thinking blocks, if any. Without a signature no host accepts it.
  if (isPresent(unsigned) && unsigned !== '' && !isPresent(thinking)) findings.ignore('reasoning_content');
  return writtenWithCacheControl(written, message.cache_control, where, findings);
}

const IMAGE_FIELDS: ReadonlySet<string> = new Set(['type', 'index', 'image_url']);

/** Reads an image from a past answer. */
function readPastImage(item: Fields, where: string, findings: Findings): readonly Part[] {
  findings.expectOnly(IMAGE_FIELDS, item, where);
  const part = readImage(item.image_url, undefined, `${where}.image_url`, findings);
  return part === undefined ? [] : [part];
}

/** Ignores `name`, which agent libraries add to every message to distinguish speakers. */
function ignoreName(message: Fields, findings: Findings): void {
  if (isPresent(message.name)) findings.ignore('messages.name');
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Returns the objects of a list with their paths. */
function listOf(
  value: unknown,
  where: string,
  findings: Findings,
): readonly (readonly [item: Fields, where: string])[] {
  if (!isPresent(value)) return [];
  if (!Array.isArray(value) || !value.every(isObject)) {
    findings.refuse(where, 'expected an array of objects');
    return [];
  }
  return value.map((item, index) => [item, `${where}[${index}]`]);
}

const THINKING_FIELDS: ReadonlySet<string> = new Set(['type', 'index', 'thinking', 'signature']);
const REDACTED_FIELDS: ReadonlySet<string> = new Set(['type', 'index', 'data']);

function readThinking(block: Fields, where: string, findings: Findings): Written {
  const { type, thinking, signature, data } = block;
  const reasoning = { kind: 'reasoning', field: 'messages.thinking_blocks' } as const;
  if (type === 'redacted_thinking') {
    findings.expectOnly(REDACTED_FIELDS, block, where);
    return { ...reasoning, block: { type, data: findings.text(data, `${where}.data`) } };
  }
  if (type !== 'thinking') findings.refuse(`${where}.type`, 'expected thinking or redacted_thinking');
  findings.expectOnly(THINKING_FIELDS, block, where);
  const text = findings.text(thinking, `${where}.thinking`);
  const signed = findings.text(signature, `${where}.signature`);
  return { ...reasoning, block: { type: 'thinking', thinking: text, signature: signed } };
}

/** Scope for names of ignored fields. */
const CALLS = 'messages.tool_calls';
const CALL_FIELDS: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function', 'custom', 'cache_control']);
const FUNCTION_FIELDS: ReadonlySet<string> = new Set(['name', 'arguments']);
const CUSTOM_FIELDS: ReadonlySet<string> = new Set(['name', 'input']);

function readCall(call: Fields, where: string, findings: Findings): Call {
  expectMessage(CALL_FIELDS, call, { scope: CALLS, where }, findings);
  const id = findings.text(call.id, `${where}.id`);
  const cache = readCacheControl(call.cache_control, where, findings);
  const { type = 'function', custom } = call;
  if (type !== 'custom' || !isObject(custom)) {
    const value = type === 'function' ? call.function : undefined;
    return { ...readFunctionCall(id, value, `${where}.function`, findings), cache };
  }
  expectMessage(CUSTOM_FIELDS, custom, { scope: CALLS, where: `${where}.custom` }, findings);
  const hostName = findings.text(custom.name, `${where}.custom.name`);
  return { kind: 'call', id, hostName, input: { text: findings.text(custom.input, `${where}.custom.input`) }, cache };
}

function readFunctionCall(id: string, value: unknown, where: string, findings: Findings): Call {
  if (!isObject(value)) findings.refuse(where, 'expected an object with name and arguments');
  const call = objectOf(value);
  expectMessage(FUNCTION_FIELDS, call, { scope: CALLS, where }, findings);
  const hostName = findings.text(call.name, `${where}.name`);
  return {
    kind: 'call',
    id,
    hostName,
    input: { value: readArguments(call.arguments, `${where}.arguments`, findings) },
  };
}

/** Reads arguments. Some models leave them empty. */
function readArguments(value: unknown, where: string, findings: Findings): Fields {
  const text = findings.text(value, where);
  const input = text.trim() === '' ? {} : parseArguments(text);
  if (input !== undefined) return input;
  findings.refuse(where, 'expected a JSON object as a string');
  return {};
}

/** The name is also in the call, so it is not read. */
const TOOL_FIELDS: ReadonlySet<string> = new Set([...PLAIN_FIELDS, 'tool_call_id']);

function readToolMessage(message: Fields, where: string, findings: Findings): Output {
  expectMessage(TOOL_FIELDS, message, { scope: 'messages', where }, findings);
  return outputOf(message, findings.text(message.tool_call_id, `${where}.tool_call_id`), where, findings);
}

function readFunctionMessage(
  message: Fields,
  call: FunctionCall | undefined,
  where: string,
  findings: Findings,
): Output {
  expectMessage(PLAIN_FIELDS, message, { scope: 'messages', where }, findings);
  const name = findings.text(message.name, `${where}.name`);
  if (call?.name !== name)
    findings.refuse(`${where}.name`, `expected a function_call of ${printableName(name)} before it`);
  return outputOf(message, call?.id ?? '', where, findings);
}

function outputOf(message: Fields, callId: string, where: string, findings: Findings): Output {
  const parts = partsOf(message.content, INPUT_PARTS, `${where}.content`, findings);
  return {
    callId,
    content: typeof message.content === 'string' ? message.content : parts,
    cache: readCacheControl(message.cache_control, where, findings),
  };
}
