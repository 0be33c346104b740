/** The tools in a messages request, and the host's own tools among them. */

import { DEFAULT_CALLS, type HostTool, mostCalls, type ToolCall } from '../../core/host-tools.ts';
import { isObject } from '../../core/json.ts';
import { MAX_TPM } from '../../core/limits.ts';
import { printableName } from '../../core/printable.ts';
import type { JsonBody } from '../../wire/body.ts';
import { type Edit, ObjectEditor } from '../../wire/members.ts';
import { foldCase } from '../../wire/names.ts';
import type { Fields } from '../dialect.ts';
import {
  COMMON_FIELDS,
  type Path,
  pathText,
  readTool,
  type ToolFields,
  type ToolReference,
  toolFields,
} from '../host-tools.ts';

/** Tools that the client runs, tools that cost only their tokens, and references to tools declared elsewhere. */
const FREE_TOOLS: ReadonlySet<string> = new Set([
  'custom',
  'bash',
  'text_editor',
  'computer',
  'computer_toolset',
  'browser_toolset',
  'memory',
  'tool_search_tool_regex',
  'tool_search_tool_bm25',
  'tool_definition',
  'tool_reference',
]);

const BOUNDED_FIELDS = `${COMMON_FIELDS} max_uses`;
const SITE_FIELDS = `${BOUNDED_FIELDS} allowed_domains blocked_domains response_inclusion`;

/** The fields of the tools, as Anthropic documents them. The price of an advisor depends on its model. */
const KINDS: ReadonlyMap<string, ToolFields> = new Map([
  ['web_search', toolFields(`${SITE_FIELDS} user_location`)],
  ['web_fetch', toolFields(`${SITE_FIELDS} citations url_sources use_cache max_content_tokens`)],
  ['advisor', toolFields(BOUNDED_FIELDS)],
  ['code_execution', toolFields(COMMON_FIELDS)],
  ['mcp_toolset', toolFields(`${COMMON_FIELDS} mcp_server_name configs default_config tools`)],
]);
const OTHERS = toolFields(BOUNDED_FIELDS);
/** Tools with a maximum of calls. */
const BOUNDED: ReadonlySet<string> = new Set(['web_search', 'web_fetch', 'advisor']);

/** A tool of the host and its path. */
export interface FoundTool {
  readonly name: string;
  readonly tool: Fields;
  readonly path: Path;
}

export function hostTools(found: readonly FoundTool[]): readonly HostTool[] {
  return found.map(({ name, tool, path }) => ({
    name,
    calledAs: name,
    where: pathText(path),
    ...(typeof tool.type === 'string' && { tag: printableName(tool.type) }),
    calls: mostCalls(tool.max_uses),
    ...(!BOUNDED.has(name) && isAbsent(tool.max_uses) && { isUnbounded: true as const }),
    isReported: true,
    settings: readTool(tool, path, KINDS.get(name) ?? OTHERS).settings,
    tokens: tokensOf(tool),
  }));
}

/** Returns the maximum tokens of a page, for hosts that enforce it. */
function tokensOf({ max_content_tokens: most }: Fields): number {
  return typeof most === 'number' ? Math.min(Math.max(0, Math.ceil(most)), MAX_TPM) : 0;
}

/** Returns the problem with a maximum of calls that hosts might read as another number. */
export function maximumProblem(found: readonly FoundTool[]): string | undefined {
  const invalid = found.find(({ tool: { max_uses: most } }) => !isAbsent(most) && !isMaximum(most));
  return invalid && `${pathText(invalid.path)}.max_uses: expected a whole number of at least 1`;
}

function isMaximum(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Sets the number of held calls as the maximum of tools without one. */
export function maximumEdits({ text, fields }: JsonBody): readonly Edit[] {
  const editor = new ObjectEditor(text);
  return findTools(fields)
    .filter(({ name, tool }) => BOUNDED.has(name) && isAbsent(tool.max_uses))
    .map(({ path }) => editor.set(path, 'max_uses', String(DEFAULT_CALLS)));
}

/** Returns the references of the host's tools in a request, and of their container. */
export function toolReferences(fields: Fields): readonly ToolReference[] {
  const { container } = fields;
  const ofContainer = isObject(container) ? readTool(container, ['container'], OTHERS).references : [];
  const ofTools = findTools(fields).flatMap(({ tool, path }) => readTool(tool, path, OTHERS).references);
  return [...ofTools, ...ofContainer];
}

/** Members that contain tools, as in `{type: "tool_addition", tool: {type: "tool_definition", definition}}`. */
const HOLDERS: readonly string[] = ['tool', 'tools', 'definition'];

/** Returns the host's own tools. Messages can declare tools in addition to `tools`. */
export function findTools({ tools, messages, system }: Fields): readonly FoundTool[] {
  const finder = new ToolFinder();
  finder.add(tools, 'tools');
  finder.find(messages, 'messages');
  finder.find(system, 'system');
  return finder.found;
}

/** Searches values for tools. MAX_JSON_DEPTH bounds the recursion. */
class ToolFinder {
  readonly found: FoundTool[] = [];
  readonly #path: (string | number)[] = [];

  /** Finds tools everywhere except in model output. */
  find(value: unknown, key: string | number): void {
    if (typeof value !== 'object' || value === null) return;
    this.#path.push(key);
    if (Array.isArray(value)) for (const [index, item] of value.entries()) this.find(item, index);
    else {
      for (const [name, item] of Object.entries(value)) {
        if (isHolder(name)) this.add(item, name);
        else if (name !== 'input') this.find(item, name);
      }
    }
    this.#path.pop();
  }

  /** Adds one or several tools, including nested ones. Types end with a date, such as `web_search_20250305`. */
  add(value: unknown, key: string | number): void {
    this.#path.push(key);
    if (Array.isArray(value)) for (const [index, item] of value.entries()) this.add(item, index);
    else if (isObject(value)) {
      for (const [member, item] of Object.entries(value)) {
        if (isNamed(member, 'type') && typeof item === 'string') this.#addNamed(item.replace(/_\d{8}$/, ''), value);
        if (isHolder(member)) this.add(item, member);
      }
    }
    this.#path.pop();
  }

  #addNamed(name: string, tool: Fields): void {
    if (!FREE_TOOLS.has(name)) this.found.push({ name, tool, path: [...this.#path] });
  }
}

function isHolder(name: string): boolean {
  return HOLDERS.some((holder) => isNamed(name, holder));
}

function isNamed(name: string, member: string): boolean {
  return name.length === member.length && foldCase(name) === member;
}

/** The tool whose price covers a call, by the call's name. */
const CALL_NAMES: ReadonlyMap<string, string> = new Map([
  ['bash_code_execution', 'code_execution'],
  ['text_editor_code_execution', 'code_execution'],
]);

/** Returns the billed call of a host's tool, which has its own block. `id`: the gateway's id of the block. */
export function hostCallsOf(block: unknown, id: string | number): readonly ToolCall[] {
  if (!isObject(block) || block.type !== 'server_tool_use' || typeof block.name !== 'string') return [];
  const { name } = block;
  return [{ id: String(id), name: CALL_NAMES.get(name) ?? name, reported: {}, isBilled: true }];
}
