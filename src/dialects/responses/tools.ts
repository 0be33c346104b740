/** The tools of the responses format that the host runs itself, and may bill by the call. */
import { isObject } from '../../core/json.ts';
import { foldCase } from '../../wire/names.ts';
import type { Fields } from '../dialect.ts';

/** Tools that the client runs, or that cost nothing beside their tokens. Any other type is one of the host's. */
const FREE_TOOLS: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'namespace',
  'local_shell',
  'apply_patch',
  'computer',
  'computer_use',
  'tool_search',
]);

const SHELL = 'shell';

/** The names, as prices have them, of the host's tools in a request: in `tools`, and in the items of its input. */
export function hostToolsOf({ tools, input }: Fields): ReadonlySet<string> {
  const names = new Set<string>();
  collect(tools, names);
  for (const item of Array.isArray(input) ? input : []) {
    if (isObject(item)) for (const more of valuesOf(item, 'tools')) collect(more, names);
  }
  return names;
}

/** A namespace holds tools of its own. The recursion is bounded by MAX_JSON_DEPTH. */
function collect(tools: unknown, names: Set<string>): void {
  for (const tool of Array.isArray(tools) ? tools : [tools]) {
    if (!isObject(tool)) continue;
    for (const type of valuesOf(tool, 'type')) {
      const name = typeof type === 'string' ? toolName(type) : undefined;
      if (name !== undefined && !FREE_TOOLS.has(name) && !(name === SHELL && isLocal(tool))) names.add(name);
    }
    for (const more of valuesOf(tool, 'tools')) collect(more, names);
  }
}

/** In types of requests, dates and `preview` may follow the name. */
function toolName(type: string): string {
  return foldCase(type)
    .replace(/(?:_\d{4}_\d{2}_\d{2}|_\d{8})$/, '')
    .replace(/_preview$/, '');
}

/** Whether the client runs a shell: otherwise the host has a container for it. */
function isLocal(shell: Fields): boolean {
  const environments = valuesOf(shell, 'environment');
  return environments.length > 0 && environments.every(isLocalEnvironment);
}

function isLocalEnvironment(environment: unknown): boolean {
  return isObject(environment) && valuesOf(environment, 'type').every((type) => type === 'local');
}

/** The values of a field under its name in any case: hosts may read any of them. */
function valuesOf(fields: Fields, field: string): readonly unknown[] {
  return Object.keys(fields)
    .filter((name) => name === field || foldCase(name) === field)
    .map((name) => fields[name]);
}

/** Calls that have names other than that of their tool. */
const CALLS: ReadonlyMap<unknown, string> = new Map([
  ['custom_tool_call', 'custom'],
  ['program', 'programmatic_tool_calling'],
]);

/** The host's tool that an item of the output is a call of: `web_search` by the type `web_search_call`. */
export function hostToolOfItem({ type, environment }: Fields): string | undefined {
  if (typeof type !== 'string') return undefined;
  const name = CALLS.get(type) ?? /^([a-z_]+)_call$/.exec(type)?.[1];
  if (name === undefined || FREE_TOOLS.has(name) || name in Object.prototype) return undefined;
  return name === SHELL && isObject(environment) && environment.type === 'local' ? undefined : name;
}
