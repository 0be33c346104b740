/** What hosts bill by the piece beside tokens: images, characters, seconds of sound, searches. */
import type { HostTool, ToolSetting } from './host-tools.ts';

/**
 * As the config spells them below `per`. What is written has several: units of UTF-16, code points of which a Han character
 * is two, as Microsoft and Alibaba count, and bytes of UTF-8.
 */
export type Unit = 'image' | 'character' | 'character_han_twice' | 'byte' | 'second' | 'search';

/** How a price has a unit among those of the tools: no tool of a host has such a name. */
const PREFIX = 'per_';

export function unitName(unit: Unit): string {
  return PREFIX + unit;
}

/** For people: `per_image(size:1024x1024)` is `per image(size:1024x1024)`. */
export function unitText(name: string): string {
  return name.replace(PREFIX, 'per ');
}

/** Whether what has a price by this name is a unit, and no tool. */
export function isUnit({ name }: { readonly name: string }): boolean {
  return name.startsWith(PREFIX);
}

/** Units that a request may cost, at most. `where`: the field that says how many. */
export function unitsOf(unit: Unit, most: number, where: string, settings: readonly ToolSetting[] = []): HostTool {
  const name = unitName(unit);
  return { name, calledAs: name, where, calls: most, isReported: false, settings, tokens: 0 };
}
