/** Splits the example config into its providers, and builds a config with those whose variables are set. */
import { readFileSync } from 'node:fs';
import { isSet } from './secrets.ts';

/** Inserted by the build. */
declare const BUILT_EXAMPLE: string | undefined;

/** The text of config.example.yaml. */
export const EXAMPLE: string =
  typeof BUILT_EXAMPLE === 'string'
    ? BUILT_EXAMPLE
    : readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8');

/** A provider that needs only its key, or no key. */
export interface ExampleProvider {
  readonly name: string;
  /** The variables that may contain its key, the usual one first. Empty for the mock. */
  readonly variables: readonly string[];
  /** Its entry, with the comments above it. */
  readonly text: string;
}

/** A provider whose key is set. */
export interface ActiveProvider {
  readonly name: string;
  /** The variable that contains its key; undefined for the mock. */
  readonly variable: string | undefined;
  readonly text: string;
}

const PROVIDERS = '\nproviders:\n';
/** The settings in a first config. Others rarely change. */
const SHOWN_SETTINGS = ['listen', 'state', 'tier', 'tiers', 'credit'];
const TITLE = `# The config of inf-gw, written by \`inf-gw init\`. Relative paths are relative to this file.
# After a change: \`inf-gw config check\`, then \`inf-gw reload\` if the gateway is running.
# \`inf-gw init --full --config full.yaml\` writes one with every field and every provider.
`;

const ENTRY = /^ {2}([\w-]+):$/m;
const KEY = /api_key: \$\{(\w+)\}(?: +# or \$\{(\w+)\})?/;
/** An entry that is commented out because its address must be completed. */
const COMMENTED_ENTRY = /^ {2}# ([\w-]+):\n(?: {2}# {3}.*\n)*? {2}# {3}api_key: \$\{(\w+)\}/gm;

const [head = '', entries = ''] = EXAMPLE.split(PROVIDERS);
const [, settings = '', notes = ''] = head.split('\n\n');

/** The providers of the example that need only a key, in its order. */
export const EXAMPLE_PROVIDERS: readonly ExampleProvider[] = entries.split('\n\n').flatMap((text) => {
  const name = ENTRY.exec(text)?.[1];
  if (name === undefined) return [];
  return [{ name, variables: (KEY.exec(text) ?? []).slice(1).filter(isSet), text: text.trimEnd() }];
});

/** The providers of the example that also need an address. */
export const UNADDRESSED_PROVIDERS: readonly { readonly name: string; readonly variable: string }[] = [
  ...entries.matchAll(COMMENTED_ENTRY),
].map(([, name = '', variable = '']) => ({ name, variable }));

/** The providers whose key is set, and the providers without keys. Their entries name the set variable. */
export function activeProviders(environment: NodeJS.ProcessEnv): ActiveProvider[] {
  return EXAMPLE_PROVIDERS.flatMap(({ name, variables, text }): ActiveProvider[] => {
    const variable = variables.find((each) => isSet(environment[each]));
    if (variable === undefined) return variables.length === 0 ? [{ name, variable, text }] : [];
    return [{ name, variable, text: text.replace(KEY, () => `api_key: \${${variable}}`) }];
  });
}

/** The text of a config with these providers and the usual settings. */
export function configWith(providers: readonly ActiveProvider[]): string {
  const blocks = notes.split('\n#\n');
  const [references = '', prices = ''] = [blocks[0], blocks.at(-1)];
  const shown = SHOWN_SETTINGS.map((name) => settingText(name)).join('\n');
  const texts = providers.map(({ text }) => text).join('\n\n');
  return `${TITLE}\n${shown}\n\n${references}\n#\n${prices}${PROVIDERS}${texts}\n`;
}

/** The lines of a setting with its indented lines. */
function settingText(name: string): string {
  return new RegExp(`^${name}:.*(?:\n +.*)*`, 'm').exec(settings)?.[0] ?? '';
}
