/** The tools of the responses format that the host runs itself, and may bill by the call. */
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

/** Tools that the client runs, or that cost nothing beside their tokens. Any other type is one of the host's. */
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
/** The price of a search is for the default size, medium, or a smaller one. */
const SEARCH_PRICED = { search_context_size: 'medium low' };
const CONTAINER_FIELDS = 'type allowed_callers';

/** The fields of the tools, as OpenAI documents them. What pictures add to a search is within its tokens. */
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

/** The host's tools in a request: in `tools`, and in the items of its input. */
export function hostToolsOf(fields: Fields): readonly HostTool[] {
  const calls = mostCalls(fields.max_tool_calls);
  return toolsIn(fields).map(({ name, tool, path }) => ({
    name,
    calledAs: CALLED_AS.get(name) ?? name,
    where: pathText(path),
    calls,
    // Hosts with tools of their own may not show their calls.
    isReported: KINDS.has(name),
    settings: readTool(tool, path, KINDS.get(name) ?? OTHERS).settings,
    tokens: 0,
  }));
}

const CALLED_AS: ReadonlyMap<string, string> = new Map([['web_search_preview', 'web_search']]);

/** What the host's tools in a request refer to, and past calls of them in its input. */
export function toolReferences(fields: Fields): readonly ToolReference[] {
  const tools = toolsIn(fields);
  const names = new Set(tools.map(({ name }) => name));
  const items = Array.isArray(fields.input) ? fields.input : [];
  return [
    ...tools.flatMap(({ name, tool, path }) => readTool(tool, path, KINDS.get(name) ?? OTHERS).references),
    ...items.flatMap((item, index) => (isObject(item) ? referencesOfCall(item, names, ['input', index]) : [])),
  ];
}

/** A tool goes on in the container of a past call; a picture that was made is at the host unless the request holds it. */
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

/** A tool of the host, and where it is. */
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

/** A namespace holds tools of its own. The recursion is bounded by MAX_JSON_DEPTH. */
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

/** In types of requests, dates may follow the name. A preview is a tool with a price of its own. */
function toolName(type: string): string {
  return foldCase(type).replace(/(?:_\d{4}_\d{2}_\d{2}|_\d{8})$/, '');
}

/** Whether the client runs a shell: otherwise the host has a container for it. */
function isLocal(shell: Fields): boolean {
  const environments = namesOf(shell, 'environment').map((name) => shell[name]);
  return environments.length > 0 && environments.every(isLocalEnvironment);
}

function isLocalEnvironment(environment: unknown): boolean {
  return isObject(environment) && namesOf(environment, 'type').every((name) => environment[name] === 'local');
}

/** The names of a field, in any case: hosts may read any of them. */
function namesOf(fields: Fields, field: string): readonly string[] {
  return Object.keys(fields).filter((name) => name === field || foldCase(name) === field);
}

/** Calls that have names other than that of their tool. */
const CALLS: ReadonlyMap<unknown, string> = new Map([
  ['custom_tool_call', 'custom'],
  ['program', 'programmatic_tool_calling'],
]);

/** What a search does besides searching, which is not billed. */
const UNBILLED_ACTIONS: readonly unknown[] = ['open_page', 'find_in_page', 'find'];

/** The call of the host's tool that an item of the output is: of `web_search` by the type `web_search_call`. */
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
