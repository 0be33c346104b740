/** Translates the system prompt and the turns of a conversation into chat messages. */
import type { Fields } from '../../dialects/dialect.ts';
import { type Located, locatedBlocks, toContent, toParts, toText } from './blocks.ts';
import type { Notes } from './notes.ts';
import { translateResults } from './tool-results.ts';

/** Neighbouring messages of one role. They are one turn in this dialect. */
interface Turn {
  readonly role: unknown;
  readonly where: string;
  readonly blocks: readonly Located[];
}

export function translateConversation(fields: Fields, notes: Notes): readonly Fields[] {
  const list = notes.array(fields.messages ?? '', 'messages');
  const messages = list.map((message, index) => readMessage(message, `messages[${index}]`, notes));
  const firstAnswer = messages.findIndex(({ role }) => role === 'assistant');
  const opening = firstAnswer < 0 ? messages : messages.slice(0, firstAnswer);
  // Many models accept system messages at the very beginning alone, and nothing has been answered yet.
  const early = opening.filter(isSystem);
  const others = [...opening.filter((message) => !isSystem(message)), ...messages.slice(opening.length)];
  const system = [...locatedBlocks(fields.system, 'system', notes), ...early.flatMap(({ blocks }) => blocks)];
  const turns = mergeNeighbours(others);
  const last = turns.at(-1);
  if (last?.role === 'assistant') {
    notes.refuse(last.where, 'this model cannot continue a given answer; end with a user message');
  }
  return [
    ...(system.length > 0 ? [{ role: 'system', content: toText(system, notes) }] : []),
    ...turns.flatMap((turn) => translateTurn(turn, notes)),
  ];
}

function isSystem({ role }: Turn): boolean {
  return role === 'system';
}

function readMessage(value: unknown, where: string, notes: Notes): Turn {
  const message = notes.object(value ?? '', where) ?? {};
  notes.allow(['role', 'content'], message, where);
  return { role: message.role, where, blocks: locatedBlocks(message.content ?? '', `${where}.content`, notes) };
}

function mergeNeighbours(messages: readonly Turn[]): readonly Turn[] {
  const turns: { role: unknown; where: string; blocks: Located[] }[] = [];
  for (const { role, where, blocks } of messages) {
    const last = turns.at(-1);
    // Too many blocks for the arguments of one call, if a client sends that many.
    if (last !== undefined && last.role === role) for (const block of blocks) last.blocks.push(block);
    else turns.push({ role, where, blocks: [...blocks] });
  }
  return turns;
}

function translateTurn(turn: Turn, notes: Notes): readonly Fields[] {
  if (turn.role === 'user') return translateUserTurn(turn.blocks, notes);
  if (turn.role === 'assistant') return [translateAssistantTurn(turn.blocks, notes)];
  if (turn.role === 'system') return [{ role: 'system', content: toText(turn.blocks, notes) }];
  notes.refuse(`${turn.where}.role`, 'expected user, assistant or system');
  return [];
}

/** The results of tools must follow directly on their calls, so they come first. */
function translateUserTurn(blocks: readonly Located[], notes: Notes): readonly Fields[] {
  const isResult = ({ block }: Located) => block.type === 'tool_result';
  const { messages, attachments } = translateResults(blocks.filter(isResult), notes);
  const said = blocks.filter((located) => !isResult(located)).flatMap((located) => toParts(located, notes));
  const parts = [...attachments, ...said];
  const isOnlyResults = parts.length === 0 && messages.length > 0;
  return isOnlyResults ? messages : [...messages, { role: 'user', content: toContent(parts) }];
}

function translateAssistantTurn(blocks: readonly Located[], notes: Notes): Fields {
  let text = '';
  const calls: Fields[] = [];
  for (const located of blocks) {
    const { block, where } = located;
    // Only the host that has written it could read it.
    if (block.type === 'thinking' || block.type === 'redacted_thinking') notes.ignore(`messages.${block.type}`);
    else if (block.type === 'tool_use') calls.push(translateCall(block, where, notes));
    // One text, that a host may have cut anywhere.
    else text += toText([located], notes);
  }
  if (calls.length === 0) return { role: 'assistant', content: text };
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls };
}

function translateCall(block: Fields, where: string, notes: Notes): Fields {
  notes.allow(['type', 'id', 'name', 'input', 'caller'], block, where);
  const caller = notes.object(block.caller, `${where}.caller`);
  if (caller !== undefined && caller.type !== 'direct') {
    notes.refuse(`${where}.caller`, 'this model calls tools directly; leave out calls by other tools');
  }
  const name = notes.text(block.name, `${where}.name`);
  const input = notes.object(block.input, `${where}.input`) ?? {};
  return {
    id: notes.text(block.id, `${where}.id`),
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  };
}
