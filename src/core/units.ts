/** Billing units other than tokens: images, characters, seconds of audio, searches. */
import type { HostTool, ToolSetting } from './host-tools.ts';

/**
 * The names of units below `per` in the config. Text has several units: UTF-16 code units, code points with Han characters
 * counted twice (Microsoft, Alibaba), and UTF-8 bytes.
 */
export type Unit = 'image' | 'character' | 'character_han_twice' | 'byte' | 'second' | 'search';

/** Prefix that distinguishes units from tools in a price list. No host tool has this prefix. */
const PREFIX = 'per_';

export function unitName(unit: Unit): string {
  return PREFIX + unit;
}

/** Formats a unit for messages: `per_image(size:1024x1024)` becomes `per image(size:1024x1024)`. */
export function unitText(name: string): string {
  return name.replace(PREFIX, 'per ');
}

/** Reports whether an entry of the price list is a unit rather than a tool. */
export function isUnit({ name }: { readonly name: string }): boolean {
  return name.startsWith(PREFIX);
}

/** Returns the maximum units of a request. `where`: the field that determines the number. */
export function unitsOf(unit: Unit, most: number, where: string, settings: readonly ToolSetting[] = []): HostTool {
  const name = unitName(unit);
  return { name, calledAs: name, where, calls: most, isReported: false, settings, tokens: 0 };
}
