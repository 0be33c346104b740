/** Prints the census of the tests as a page for readers: `npm run make:census-doc`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Group, What } from '../test/census/rows.ts';
import { PLACES, type Place } from '../test/census/table.ts';
import { wrapProse } from './wrap.ts';

const WHATS: Readonly<Record<What, string>> = {
  acted_on: 'acted on',
  held: 'held',
  priced: 'priced',
  refused: 'refused',
  free: 'free',
};

/** In the order of the page. */
const ORDER: readonly What[] = ['refused', 'priced', 'held', 'acted_on', 'free'];

/** Fields follow their kind, and kinds with the same ones are said together: `content[image]` `content[document]` `.source`. */
function namesText(names: readonly string[]): string {
  const byKind = new Map<string, string[]>();
  for (const name of names) {
    const [, kind = '', path = ''] = /^(.*\])?(.*)$/.exec(name) ?? [];
    byKind.set(kind, [...(byKind.get(kind) ?? []), path]);
  }
  const alike = Map.groupBy(byKind, ([, paths]) => paths.join(' '));
  return [...alike.values()].map(kindsText).join('; ');
}

function kindsText(kinds: readonly (readonly [kind: string, paths: readonly string[]])[]): string {
  const paths = kinds[0]?.[1] ?? [];
  const fields = paths.filter((path) => path !== '').map((path) => `\`${path}\``);
  const named = kinds.filter(([kind]) => kind !== '').map(([kind]) => `\`${kind}\``);
  const mark = named.length > 0 && !paths.includes('') ? ':' : '';
  return [...named, ...fields].join(' ').replace(named.join(' '), (all) => all + mark);
}

function rowText({ what, why, names }: Group): string {
  return `| ${WHATS[what]} | ${why} | ${namesText(names).replaceAll('|', '\\|')} |`;
}

function placeText({ title, isRequest, table }: Place): string {
  const groups = ORDER.flatMap((what) => table.groups.filter((group) => group.what === what));
  return `## ${title}: ${isRequest ? 'requests' : 'answers and events'}

| | how, or why | names |
|---|---|---|
${groups.map(rowText).join('\n')}
`;
}

/** The page, as docs/ holds it. */
export function censusDoc(): string {
  const places = PLACES.filter(({ format, isRequest }) => !(format === 'count_tokens' && isRequest));
  return wrapProse(`<!-- Printed by npm run make:census-doc from test/census: change it there. -->

# What requests and answers can say, and what becomes of it

Every field of a request, every kind of content, tool and event, and every figure of usage that OpenAI's and Anthropic's own libraries know, with what the gateway does with it. The tests read the types of the libraries and fail on a name that is not here, so a new version of a library says itself what has to be decided. For nearly every name they also ask the gateway's code whether it does what this page says.

- **refused**: 400, which names it. With \`remote_files: context\`, a model takes content that the gateway cannot see, and its whole context window is held.
- **priced**: it has a price of its own in the config. What a request asks for is refused where it has none.
- **held**: tokens and money are held for it before the request is sent.
- **acted on**: it decides what the gateway does, or it is read from an answer, as output or as usage.
- **free**: it costs nothing, for the reason given.

How names are written: \`usage.input_tokens\` is a field of a field. \`content[image]\` is what has the type \`image\`, wherever it stands; it was first found in a field \`content\`. Its fields follow it, as \`.source\`; a colon says that it has a row of its own elsewhere. \`[*]\` is every kind, \`=\` is followed by a value, and \`.**\` stands for all that is in a field. A request to count tokens has the names of one of messages, and only some of them.

${places.map(placeText).join('\n')}`);
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('../docs/census.md', import.meta.url)), censusDoc());
