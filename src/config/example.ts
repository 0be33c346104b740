/**
 * The example config as a source: its providers one by one, which of them the variables activate, and a
 * config with those alone.
 */
import { readFileSync } from 'node:fs';
import { isSet } from './secrets.ts';

/** Put here by the build. */
declare const BUILT_EXAMPLE: string | undefined;

/** The text of config.example.yaml. */
export const EXAMPLE: string =
  typeof BUILT_EXAMPLE === 'string'
    ? BUILT_EXAMPLE
    : readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8');

/** A provider that needs nothing but its key, or not even that. */
export interface ExampleProvider {
  readonly name: string;
  /** The variables that its key may be in, the usual one first. None for the mock. */
  readonly variables: readonly string[];
  /** Its entry, with the comments above it. */
  readonly text: string;
}

/** A provider whose key is set. */
export interface ActiveProvider {
  readonly name: string;
  /** The variable that has its key; undefined for the mock. */
  readonly variable: string | undefined;
  readonly text: string;
}

const PROVIDERS = '\nproviders:\n';
/** The settings that a first config shows; the others are rarely changed. */
const SHOWN_SETTINGS = ['listen', 'state', 'tier', 'tiers', 'credit'];
const TITLE = `# The config of inf-gw, written by \`inf-gw init\`. Relative paths are relative to this file.
# After a change: \`inf-gw config check\`, then \`inf-gw reload\` if the gateway is running.
# \`inf-gw init --full --config full.yaml\` writes one with every field and every provider.
`;

const ENTRY = /^ {2}([\w-]+):$/m;
const KEY = /api_key: \$\{(\w+)\}(?: +# or \$\{(\w+)\})?/;
/** An entry that is commented out, since its address has to be filled in. */
const COMMENTED_ENTRY = /^ {2}# ([\w-]+):\n(?: {2}# {3}.*\n)*? {2}# {3}api_key: \$\{(\w+)\}/gm;

const [head = '', entries = ''] = EXAMPLE.split(PROVIDERS);
const [, settings = '', notes = ''] = head.split('\n\n');

/** What of the example needs a key alone, in its order. */
export const EXAMPLE_PROVIDERS: readonly ExampleProvider[] = entries.split('\n\n').flatMap((text) => {
  const name = ENTRY.exec(text)?.[1];
  if (name === undefined) return [];
  return [{ name, variables: (KEY.exec(text) ?? []).slice(1).filter(isSet), text: text.trimEnd() }];
});

/** What of the example also needs an address. */
export const UNADDRESSED_PROVIDERS: readonly { readonly name: string; readonly variable: string }[] = [
  ...entries.matchAll(COMMENTED_ENTRY),
].map(([, name = '', variable = '']) => ({ name, variable }));

/** The providers whose key is set, and those that need none. Their entries name the variable that is set. */
export function activeProviders(environment: NodeJS.ProcessEnv): ActiveProvider[] {
  return EXAMPLE_PROVIDERS.flatMap(({ name, variables, text }): ActiveProvider[] => {
    const variable = variables.find((each) => isSet(environment[each]));
    if (variable === undefined) return variables.length === 0 ? [{ name, variable, text }] : [];
    return [{ name, variable, text: text.replace(KEY, () => `api_key: \${${variable}}`) }];
  });
}

/** The text of a config with these providers, and what a first config shows of the settings. */
export function configWith(providers: readonly ActiveProvider[]): string {
  const blocks = notes.split('\n#\n');
  const [references = '', prices = ''] = [blocks[0], blocks.at(-1)];
  const shown = SHOWN_SETTINGS.map((name) => settingText(name)).join('\n');
  const texts = providers.map(({ text }) => text).join('\n\n');
  return `${TITLE}\n${shown}\n\n${references}\n#\n${prices}${PROVIDERS}${texts}\n`;
}

/** The lines of a setting: its own, and the indented ones below it. */
function settingText(name: string): string {
  return new RegExp(`^${name}:.*(?:\n +.*)*`, 'm').exec(settings)?.[0] ?? '';
}
