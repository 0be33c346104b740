/** Writes turns as a system prompt and messages with blocks. */
import type { Fields } from '../../dialects/dialect.ts';
import { CallIds } from '../call-ids.ts';
import { inputOf } from '../custom-input.ts';
import type { Findings } from '../findings.ts';
import type { CacheHints, CacheMark, Call, Output, Sourced, Turn, Written } from '../request.ts';
import { isOfMessages } from '../thought-signature.ts';
import { type Block, blocksOf } from './messages-parts-writer.ts';

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: Block[];
}

export interface Conversation {
  readonly system: Block[];
  readonly messages: Message[];
}

export function conversationOf({ value: turns, field }: Sourced<readonly Turn[]>, findings: Findings): Conversation {
  const system: Block[] = [];
  const messages: Message[] = [];
  const ids = new CallIds();
  for (const turn of turns) {
    if (turn.kind === 'instructions') for (const block of blocksOf(turn.parts, findings)) system.push(block);
    else if (turn.kind === 'user') append(messages, 'user', blocksOf(turn.parts, findings));
    else {
      append(messages, 'assistant', writtenBlocks(turn.written, ids, findings));
      append(
        messages,
        'user',
        turn.outputs.map((output) => toolResult(output, ids, findings)),
      );
    }
  }
  if (messages.length === 0) findings.refuse(field, 'expected a message of a user that is not empty');
  return { system, messages };
}

/** Merges neighbouring messages of one role: hosts expect the results of parallel calls together. */
export function append(messages: Message[], role: Message['role'], blocks: readonly Block[]): void {
  const last = messages.at(-1);
  if (blocks.length === 0) return;
  if (last?.role === role) for (const block of blocks) last.content.push(block);
  else messages.push({ role, content: [...blocks] });
}

function writtenBlocks(written: readonly Written[], ids: CallIds, findings: Findings): readonly Block[] {
  return written.flatMap((each): readonly Block[] => {
    if (each.kind === 'parts') return blocksOf(each.parts, findings);
    if (each.kind === 'call') return [toolUse(each, ids)];
    if (each.block !== undefined && isOfMessages(each.block)) return [each.block];
    findings.ignore(each.field);
    return [];
  });
}

function toolUse({ id, hostName, input, cache }: Call, ids: CallIds): Block {
  return {
    type: 'tool_use',
    id: ids.hostId(id),
    name: hostName,
    input: inputOf(input),
    ...marked(cache),
  };
}

function toolResult({ callId, content, cache }: Output, ids: CallIds, findings: Findings): Block {
  const said = typeof content === 'string' ? content : blocksOf(content, findings);
  return {
    type: 'tool_result',
    tool_use_id: ids.hostId(callId),
    ...(said.length > 0 && { content: said }),
    ...marked(cache),
  };
}

function marked(cache: CacheMark | undefined): Fields {
  return cache === undefined ? {} : { cache_control: cache.value };
}

/** Maximum number of cache marks per request. */
const MAX_MARKS = 4;

/** Blocks that cannot have a cache mark. */
const UNMARKABLE: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/**
 * Sets cache points for clients whose dialect has none because its hosts cache automatically: after the tools, the system prompt
 * and the last turn. They cache the prefix shared by an app's conversations, and the conversation for its next turn. The client's
 * own marks stay; above the maximum, the last ones. `isOn`: false keeps only the client's marks.
 */
export function markCache(
  { system, messages }: Conversation,
  tools: Block[],
  hints: CacheHints | undefined,
  isOn: boolean,
): void {
  const turns = messages.flatMap(({ content }) => content);
  const blocks = [...tools, ...system, ...turns];
  const hasOwn = blocks.some((block) => 'cache_control' in block);
  const isImplicit = isOn && hints?.options?.mode !== 'explicit';
  if (isImplicit && !hasOwn) for (const shared of [tools, system]) mark(shared.at(-1));
  if (isImplicit && (hints !== undefined || !hasOwn)) mark(turns.at(-1));
  const marked = blocks.filter((block) => 'cache_control' in block);
  for (const block of marked.slice(0, -MAX_MARKS)) delete block.cache_control;
}

function mark(block: Block | undefined): void {
  if (block !== undefined && !UNMARKABLE.has(block.type)) block.cache_control = { type: 'ephemeral' };
}
