/** The tools that a messages request declares, and those among them that the host runs itself. */
import { isObject } from '../../core/json.ts';
import { foldCase } from '../../wire/names.ts';
import type { Fields } from '../dialect.ts';

/**
 * Tools of the format that the client runs, or that cost nothing beside their tokens, and what
 * stands for tools that are declared elsewhere.
 */
const FREE_TOOLS: ReadonlySet<string> = new Set([
  'custom',
  'bash',
  'text_editor',
  'computer',
  'memory',
  'tool_search_tool_regex',
  'tool_search_tool_bm25',
  'tool_definition',
  'tool_reference',
]);
/** The most calls of one of the host's tools to hold money for, where a request sets no maximum. */
const DEFAULT_CALLS = 10;
const MAX_CALLS = 10_000;

/** The host's own tools, and the most calls of each. Messages can declare more of them than `tools` does. */
export function hostTools({ tools, messages, system }: Fields): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  addTools(calls, tools);
  findTools(calls, [messages, system]);
  return calls;
}

/** The members that hold tools, as in `{type: "tool_addition", tool: {type: "tool_definition", definition}}`. */
const HOLDERS = ['tool', 'tools', 'definition'] as const;

/** Finds tools anywhere but in what a model has written. The recursion is bounded by MAX_JSON_DEPTH. */
function findTools(calls: Map<string, number>, value: unknown): void {
  if (Array.isArray(value)) for (const item of value) findTools(calls, item);
  else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      if (typeof item !== 'object' || item === null || name === 'input') continue;
      if (HOLDERS.some((holder) => isNamed(name, holder))) addTools(calls, item);
      else findTools(calls, item);
    }
  }
}

/** Adds a tool or several, and those within them. Types end with a date, such as `web_search_20250305`. */
function addTools(calls: Map<string, number>, value: unknown): void {
  if (Array.isArray(value)) for (const item of value) addTools(calls, item);
  if (!isObject(value)) return;
  for (const type of membersOf(value, 'type')) {
    if (typeof type !== 'string') continue;
    const name = type.replace(/_\d{8}$/, '');
    if (!FREE_TOOLS.has(name)) calls.set(name, (calls.get(name) ?? 0) + mostCallsOf(value));
  }
  for (const holder of HOLDERS) for (const item of membersOf(value, holder)) addTools(calls, item);
}

function mostCallsOf(tool: Fields): number {
  const maxima = membersOf(tool, 'max_uses').filter((most) => Number.isSafeInteger(most) && (most as number) >= 1);
  return maxima.length === 0 ? DEFAULT_CALLS : Math.min(Math.max(...(maxima as number[])), MAX_CALLS);
}

/** The values of a member, under its name in any case. */
function membersOf(value: Fields, member: string): unknown[] {
  return Object.entries(value).flatMap(([name, item]) => (isNamed(name, member) ? [item] : []));
}

function isNamed(name: string, member: string): boolean {
  return name.length === member.length && foldCase(name) === member;
}

/** The tools that a price covers, by the names that their calls have. */
const CALL_NAMES: ReadonlyMap<string, string> = new Map([
  ['bash_code_execution', 'code_execution'],
  ['text_editor_code_execution', 'code_execution'],
]);

/** A call that the host runs itself, and bills, is a block of its own. */
export function hostCallsOf(block: unknown): readonly string[] {
  if (!isObject(block) || block.type !== 'server_tool_use' || typeof block.name !== 'string') return [];
  return [CALL_NAMES.get(block.name) ?? block.name];
}
