/** Translates the messages of a chat request to a system prompt and to messages of blocks. */
import { isObject, parseJson } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { CUSTOM_INPUT } from '../custom-input.ts';
import type { Findings } from '../findings.ts';
import { cacheControl, withCacheControl } from './cache-control.ts';
import { ASSISTANT_PARTS, blocksOf, INPUT_PARTS, TEXT_PARTS, textBlocks } from './parts.ts';

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: Fields[];
}

/** A call of a function in the deprecated form, which has no id of its own. */
interface FunctionCall {
  readonly name: unknown;
  readonly id: string;
}

/** The fields `system` and `messages`. */
export function translateMessages(messages: readonly Fields[], findings: Findings): Fields {
  const system: Fields[] = [];
  const turns: Message[] = [];
  let lastCall: FunctionCall | undefined;
  for (const [index, message] of messages.entries()) {
    const where = `messages[${index}]`;
    switch (message.role) {
      case 'system':
      case 'developer':
        for (const block of readPlain(message, TEXT_PARTS, where, findings)) system.push(block);
        break;
      case 'user':
        append(turns, 'user', readPlain(message, INPUT_PARTS, where, findings));
        break;
      case 'assistant': {
        const id = `call_${index}`;
        if (isObject(message.function_call)) lastCall = { name: message.function_call.name, id };
        append(turns, 'assistant', readAssistant(message, id, where, findings));
        break;
      }
      case 'tool':
        append(turns, 'user', readToolMessage(message, where, findings));
        break;
      default:
        append(turns, 'user', readFunctionMessage(message, lastCall, where, findings));
    }
  }
  if (turns.length === 0) findings.refuse('messages', 'expected a message of a user that is not empty');
  return { ...(system.length > 0 && { system }), messages: turns };
}

/** Neighbours of one role become one message: hosts want the results of parallel calls together. */
function append(turns: Message[], role: Message['role'], blocks: readonly Fields[]): void {
  const last = turns.at(-1);
  if (blocks.length === 0) return;
  if (last?.role === role) for (const block of blocks) last.content.push(block);
  else turns.push({ role, content: [...blocks] });
}

const PLAIN_FIELDS: ReadonlySet<string> = new Set(['role', 'content', 'cache_control', 'name']);

function readPlain(message: Fields, types: readonly string[], where: string, findings: Findings): readonly Fields[] {
  findings.expectOnly(PLAIN_FIELDS, message, where);
  ignoreName(message, findings);
  const blocks = blocksOf(message.content, types, `${where}.content`, findings);
  return withCacheControl(blocks, message.cache_control, where, findings);
}

const ASSISTANT_FIELDS: ReadonlySet<string> = new Set([
  ...PLAIN_FIELDS,
  'refusal',
  'tool_calls',
  'function_call',
  'thinking_blocks',
  'reasoning_content',
]);

/** `id`: for its call in the deprecated form. */
function readAssistant(message: Fields, id: string, where: string, findings: Findings): readonly Fields[] {
  findings.expectOnly(ASSISTANT_FIELDS, message, where);
  ignoreName(message, findings);
  const { thinking_blocks: thinking, refusal, function_call: functionCall } = message;
  const blocks = [
    ...listOf(thinking, `${where}.thinking_blocks`, findings).map(([block, at]) => readThinking(block, at, findings)),
    ...blocksOf(message.content, ASSISTANT_PARTS, `${where}.content`, findings),
    ...(isPresent(refusal) ? textBlocks(findings.text(refusal, `${where}.refusal`)) : []),
    ...(isPresent(functionCall) ? [readFunctionCall(id, functionCall, `${where}.function_call`, findings)] : []),
    ...listOf(message.tool_calls, `${where}.tool_calls`, findings).map(([each, at]) => readCall(each, at, findings)),
  ];
  const { reasoning_content: reasoning } = message;
  // It repeats the thinking blocks, if they are there. Without their signatures no host takes it.
  if (isPresent(reasoning) && reasoning !== '' && !isPresent(thinking)) findings.ignore('reasoning_content');
  return withCacheControl(blocks, message.cache_control, where, findings);
}

/** Libraries for agents put it on every message; it only tells speakers apart. */
function ignoreName(message: Fields, findings: Findings): void {
  if (isPresent(message.name)) findings.ignore('messages.name');
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The objects of a list, and where they are. */
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

function readThinking(block: Fields, where: string, findings: Findings): Fields {
  const { type, thinking, signature, data } = block;
  if (type === 'redacted_thinking') {
    findings.expectOnly(REDACTED_FIELDS, block, where);
    return { type, data: findings.text(data, `${where}.data`) };
  }
  if (type !== 'thinking') findings.refuse(`${where}.type`, 'expected thinking or redacted_thinking');
  findings.expectOnly(THINKING_FIELDS, block, where);
  const text = findings.text(thinking, `${where}.thinking`);
  return { type: 'thinking', thinking: text, signature: findings.text(signature, `${where}.signature`) };
}

const CALL_FIELDS: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function', 'custom']);
const FUNCTION_FIELDS: ReadonlySet<string> = new Set(['name', 'arguments']);
const CUSTOM_FIELDS: ReadonlySet<string> = new Set(['name', 'input']);

function readCall(call: Fields, where: string, findings: Findings): Fields {
  findings.expectOnly(CALL_FIELDS, call, where);
  const id = findings.text(call.id, `${where}.id`);
  const { type = 'function', custom } = call;
  if (type !== 'custom' || !isObject(custom)) {
    return readFunctionCall(id, type === 'function' ? call.function : undefined, `${where}.function`, findings);
  }
  findings.expectOnly(CUSTOM_FIELDS, custom, `${where}.custom`);
  const name = findings.text(custom.name, `${where}.custom.name`);
  return {
    type: 'tool_use',
    id,
    name,
    input: { [CUSTOM_INPUT]: findings.text(custom.input, `${where}.custom.input`) },
  };
}

function readFunctionCall(id: string, call: unknown, where: string, findings: Findings): Fields {
  if (!isObject(call)) {
    findings.refuse(where, 'expected an object with name and arguments');
    return {};
  }
  findings.expectOnly(FUNCTION_FIELDS, call, where);
  const name = findings.text(call.name, `${where}.name`);
  return { type: 'tool_use', id, name, input: readArguments(call.arguments, `${where}.arguments`, findings) };
}

/** Models of other hosts leave the arguments empty where there are none. */
function readArguments(value: unknown, where: string, findings: Findings): Fields {
  const text = findings.text(value, where);
  const input = text.trim() === '' ? {} : parseJson(text)?.value;
  if (isObject(input)) return input;
  findings.refuse(where, 'expected a JSON object as a string');
  return {};
}

/** The name is in the call as well. */
const TOOL_FIELDS: ReadonlySet<string> = new Set([...PLAIN_FIELDS, 'tool_call_id']);

function readToolMessage(message: Fields, where: string, findings: Findings): readonly Fields[] {
  findings.expectOnly(TOOL_FIELDS, message, where);
  return [toolResult(message, findings.text(message.tool_call_id, `${where}.tool_call_id`), where, findings)];
}

function readFunctionMessage(
  message: Fields,
  call: FunctionCall | undefined,
  where: string,
  findings: Findings,
): readonly Fields[] {
  findings.expectOnly(PLAIN_FIELDS, message, where);
  const name = findings.text(message.name, `${where}.name`);
  if (call?.name !== name)
    findings.refuse(`${where}.name`, `expected a function_call of ${printableName(name)} before it`);
  return [toolResult(message, call?.id ?? '', where, findings)];
}

function toolResult(message: Fields, id: string, where: string, findings: Findings): Fields {
  const content = blocksOf(message.content, INPUT_PARTS, `${where}.content`, findings);
  const text = typeof message.content === 'string' ? message.content : content;
  const mark = cacheControl(message.cache_control, where, findings);
  return { type: 'tool_result', tool_use_id: id, ...(text.length > 0 && { content: text }), ...mark };
}
