/** The host's own tools in the responses format, which hosts may bill by the call. */
import { type HostTool, mostCalls, type ToolCall } from '../../core/host-tools.ts';
import { isObject } from '../../core/json.ts';
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

/** Tools that the client runs or that cost only their tokens. Any other type is a tool of the host. */
const FREE_TOOLS: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'namespace',
  'local_shell',
  'apply_patch',
  'computer',
  'computer_use',
  'computer_use_preview',
  'tool_search',
]);

const SHELL = 'shell';

const SEARCH_FIELDS = 'type user_location search_content_types';
/** The base price of a search covers the default size, medium, and smaller ones. */
const SEARCH_PRICED = { search_context_size: 'medium low' };
const CONTAINER_FIELDS = 'type allowed_callers';

/** The fields of the tools, as OpenAI documents them. Images in a search are billed as tokens. */
const KINDS: ReadonlyMap<string, ToolFields> = new Map([
  [
    'web_search',
    toolFields(`${SEARCH_FIELDS} external_web_access indexed_web_access filters`, {
      ...SEARCH_PRICED,
      return_token_budget: 'default',
    }),
  ],
  ['web_search_preview', toolFields(SEARCH_FIELDS, SEARCH_PRICED)],
  ['file_search', toolFields('type filters ranking_options max_num_results')],
  [
    'code_interpreter',
    toolFields(`${CONTAINER_FIELDS} container.type container.network_policy`, { 'container.memory_limit': '1g' }),
  ],
  [
    SHELL,
    toolFields(`${CONTAINER_FIELDS} environment.type environment.network_policy`, { 'environment.memory_limit': '1g' }),
  ],
  [
    'image_generation',
    toolFields('type action background moderation output_compression frame_duration_ms input_image_mask.image_url', {
      size: '',
      quality: '',
      model: '',
      complexity: '',
      input_fidelity: 'low',
      partial_images: '0',
      output_format: 'png webp jpeg',
    }),
  ],
  [
    'mcp',
    toolFields(`${COMMON_FIELDS} server_label server_description allowed_tools authorization headers require_approval`),
  ],
  ['programmatic_tool_calling', toolFields('type')],
]);
const OTHERS = toolFields(COMMON_FIELDS);

/** Returns the host's tools in a request: in `tools`, and in its input items. */
export function hostToolsOf(fields: Fields): readonly HostTool[] {
  const calls = mostCalls(fields.max_tool_calls);
  return toolsIn(fields).map(({ name, tool, path }) => ({
    name,
    calledAs: CALLED_AS.get(name) ?? name,
    where: pathText(path),
    calls,
    // Other hosts' own tools may not show their calls.
    isReported: KINDS.has(name),
    settings: readTool(tool, path, KINDS.get(name) ?? OTHERS).settings,
    tokens: 0,
  }));
}

const CALLED_AS: ReadonlyMap<string, string> = new Map([['web_search_preview', 'web_search']]);

/** Returns the references of the host's tools in a request, and of past calls in its input. */
export function toolReferences(fields: Fields): readonly ToolReference[] {
  const tools = toolsIn(fields);
  const names = new Set(tools.map(({ name }) => name));
  const items = Array.isArray(fields.input) ? fields.input : [];
  return [
    ...tools.flatMap(({ name, tool, path }) => readTool(tool, path, KINDS.get(name) ?? OTHERS).references),
    ...items.flatMap((item, index) => (isObject(item) ? referencesOfCall(item, names, ['input', index]) : [])),
  ];
}

/**
 * Returns the references of a past call. A tool continues in the call's container; a generated image is stored at the host
 * unless the request contains it.
 */
function referencesOfCall(item: Fields, tools: ReadonlySet<string>, path: Path): readonly ToolReference[] {
  const name = hostToolOfItem(item) ?? '';
  if (name === 'image_generation' && typeof item.result !== 'string') {
    return [{ where: pathText([...path, 'id']), what: 'an image at the provider' }];
  }
  if (!tools.has(name)) return [];
  const holders = [
    { holder: item, at: path },
    { holder: item.environment, at: [...path, 'environment'] },
  ];
  return holders.flatMap(({ holder, at }) =>
    isObject(holder) && typeof holder.container_id === 'string'
      ? [{ where: pathText([...at, 'container_id']), what: 'a container at the provider' }]
      : [],
  );
}

/** A tool of the host and its path. */
interface FoundTool {
  readonly name: string;
  readonly tool: Fields;
  readonly path: Path;
}

function toolsIn(fields: Fields): readonly FoundTool[] {
  const { input } = fields;
  const items = Array.isArray(input) ? input : [];
  return [
    ...namedTools(fields.tools, ['tools']),
    ...items.flatMap((item, index) => (isObject(item) ? toolsWithin(item, ['input', index]) : [])),
  ];
}

function toolsWithin(holder: Fields, path: Path): readonly FoundTool[] {
  return namesOf(holder, 'tools').flatMap((name) => namedTools(holder[name], [...path, name]));
}

/** Returns the named tools, including those in namespaces. MAX_JSON_DEPTH bounds the recursion. */
function namedTools(tools: unknown, path: Path): readonly FoundTool[] {
  if (Array.isArray(tools)) return tools.flatMap((tool, index) => namedTools(tool, [...path, index]));
  if (!isObject(tools)) return [];
  const own = namesOf(tools, 'type').flatMap((field) => {
    const type = tools[field];
    const name = typeof type === 'string' ? toolName(type) : undefined;
    const isFree = name === undefined || FREE_TOOLS.has(name) || (name === SHELL && isLocal(tools));
    return isFree ? [] : [{ name, tool: tools, path }];
  });
  return [...own, ...toolsWithin(tools, path)];
}

/** Returns the tool of a type without its date. A preview is a separate tool with its own price. */
function toolName(type: string): string {
  return foldCase(type).replace(/(?:_\d{4}_\d{2}_\d{2}|_\d{8})$/, '');
}

/** Whether the client runs a shell. Otherwise the host runs it in a container. */
function isLocal(shell: Fields): boolean {
  const environments = namesOf(shell, 'environment').map((name) => shell[name]);
  return environments.length > 0 && environments.every(isLocalEnvironment);
}

function isLocalEnvironment(environment: unknown): boolean {
  return isObject(environment) && namesOf(environment, 'type').every((name) => environment[name] === 'local');
}

/** Returns all spellings of a field by letter case, since hosts may read any of them. */
function namesOf(fields: Fields, field: string): readonly string[] {
  return Object.keys(fields).filter((name) => name === field || foldCase(name) === field);
}

/** Calls whose names differ from their tool's name. */
const CALLS: ReadonlyMap<unknown, string> = new Map([
  ['custom_tool_call', 'custom'],
  ['program', 'programmatic_tool_calling'],
]);

/** Free actions of a search. */
const UNBILLED_ACTIONS: readonly unknown[] = ['open_page', 'find_in_page', 'find'];

/** Returns the host's tool call in an output item: `web_search` for the type `web_search_call`. */
export function hostCallOfItem(item: Fields, index: unknown): ToolCall | undefined {
  const name = hostToolOfItem(item);
  if (name === undefined) return undefined;
  const { id = `#${index}`, container_id: container = containerOf(item.environment), action } = item;
  return {
    id: String(id),
    ...(typeof container === 'string' && { container }),
    name,
    reported: Object.fromEntries(Object.entries(item).filter(isReportedSetting)),
    isBilled: !(isObject(action) && UNBILLED_ACTIONS.includes(action.type)),
  };
}

function isReportedSetting(entry: [string, unknown]): entry is [string, string] {
  return SETTINGS_OF_IMAGES.has(entry[0]) && typeof entry[1] === 'string' && entry[1] !== 'auto';
}

const SETTINGS_OF_IMAGES: ReadonlySet<string> = new Set(['size', 'quality', 'output_format', 'model']);

function containerOf(environment: unknown): unknown {
  return isObject(environment) ? environment.container_id : undefined;
}

function hostToolOfItem({ type, environment }: Fields): string | undefined {
  if (typeof type !== 'string') return undefined;
  const name = CALLS.get(type) ?? /^([a-z_]+)_call$/.exec(type)?.[1];
  if (name === undefined || FREE_TOOLS.has(name) || name in Object.prototype) return undefined;
  return name === SHELL && isObject(environment) && environment.type === 'local' ? undefined : name;
}
