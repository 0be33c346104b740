/** Reads the fields of a host's own tools: settings that change the price of calls, and references to content at the host. */
import type { ToolSetting } from '../core/host-tools.ts';
import { isObject } from '../core/json.ts';
import { printableName } from '../core/printable.ts';
import type { Fields } from './dialect.ts';

/** Path of a value in a body: `['tools', 0, 'container']`. */
export type Path = readonly (string | number)[];

/** Formats a path as `tools[0].container`. */
export function pathText(path: Path): string {
  return path.map((key, index) => (typeof key === 'number' ? `[${key}]` : named(key, index))).join('');
}

function named(key: string, index: number): string {
  return `${index === 0 ? '' : '.'}${printableName(key)}`;
}

/** The fields of a kind of tool. A dot leads into an object; the members of any other field count with the field. */
export interface ToolFields {
  /** Fields that change neither the price of a call nor the input it adds. */
  readonly free: ReadonlySet<string>;
  /** Fields that change the price, with the values that the base price covers. Without a value, the host chooses. */
  readonly priced: ReadonlyMap<string, readonly string[]>;
}

/** Names are separated by spaces. */
export function toolFields(free: string, priced: Readonly<Record<string, string>> = {}): ToolFields {
  return {
    free: new Set(words(free)),
    priced: new Map(Object.entries(priced).map(([field, values]) => [field, words(values)])),
  };
}

function words(text: string): readonly string[] {
  return text.split(' ').filter((word) => word !== '');
}

/** Fields of every kind of tool. */
export const COMMON_FIELDS = 'type name description allowed_callers defer_loading cache_control strict';

/** A reference to content at the host or fetched by it. The gateway cannot see it, and all keys would share stored state. */
export interface ToolReference {
  readonly where: string;
  /** Such as `a file at the provider`. */
  readonly what: string;
}

const REFERENCES: ReadonlyMap<string, string> = new Map([
  ['file_id', 'a file at the provider'],
  ['file_ids', 'a file at the provider'],
  ['container', 'a container at the provider'],
  ['container_id', 'a container at the provider'],
  ['vector_store_ids', 'a store at the provider'],
  ['knowledge_id', 'a store at the provider'],
  ['library_ids', 'a store at the provider'],
  ['skills', 'skills at the provider'],
  ['server_url', 'a server that the provider asks'],
  ['connector_id', 'a server that the provider asks'],
  ['tunnel_id', 'a server that the provider asks'],
  ['image_url', 'an image that the provider fetches'],
]);
/** Prefix of an image inside the request. */
const DATA = 'data:';

/** Describes the target of a field's reference; undefined without one. */
function referenceIn(name: string, value: unknown): string | undefined {
  const what = REFERENCES.get(name);
  if (typeof value === 'string')
    return value === '' || (name === 'image_url' && value.startsWith(DATA)) ? undefined : what;
  return Array.isArray(value) && value.length > 0 ? what : undefined;
}

export interface ReadTool {
  readonly settings: readonly ToolSetting[];
  readonly references: readonly ToolReference[];
}

/** Reads the fields of a tool. An unknown field is a setting without usual values. */
export function readTool(tool: Fields, path: Path, kinds: ToolFields): ReadTool {
  const settings: ToolSetting[] = [];
  const references: ToolReference[] = [];
  const open = new Map(kinds.priced);
  const read = (fields: Fields, prefix: string, at: Path): void => {
    for (const [name, value] of Object.entries(fields)) {
      if (value === null || value === undefined) continue;
      const field = prefix + name;
      const here = [...at, name];
      const what = referenceIn(name, value);
      if (what !== undefined) references.push({ where: pathText(here), what });
      else if (REFERENCES.has(name) && !isObject(value)) continue;
      else if (kinds.free.has(field)) continue;
      else if (isObject(value) && isHolder(kinds, field)) read(value, `${field}.`, here);
      else {
        const text = valueText(value);
        const usual = kinds.priced.get(field);
        // With `auto` the host chooses.
        if (usual !== undefined && text === 'auto') continue;
        open.delete(field);
        settings.push({ field: name, value: text, isUsual: usual?.includes(text) === true, where: pathText(here) });
      }
    }
  };
  read(tool, '', path);
  for (const [field, [value]] of open) {
    settings.push({ field: lastOf(field), value, isUsual: true, where: pathText([...path, ...field.split('.')]) });
  }
  return { settings, references };
}

function isHolder({ free, priced }: ToolFields, field: string): boolean {
  return [...free, ...priced.keys()].some((known) => known.startsWith(`${field}.`));
}

function lastOf(field: string): string {
  return field.slice(field.lastIndexOf('.') + 1);
}

/** Formats a value as price variants spell it: a list as `text+image`, nested values as `set`. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.every((item) => typeof item !== 'object') ? value.join('+') : 'set';
  return typeof value === 'object' ? 'set' : String(value);
}
