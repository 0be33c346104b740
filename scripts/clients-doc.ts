/** Prints what each client is told, and what translations leave out, as tables into docs/clients.md: `npm run make:clients-doc`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Choice, Offer } from '../src/cli/clients/choice.ts';
import { CLIENTS, type Client, UNSERVED } from '../src/cli/clients/clients.ts';
import { LEFT_OUT, WAYS } from '../test/unit/translate/left-out.ts';

const PAGE = fileURLToPath(new URL('../docs/clients.md', import.meta.url));
const BEGIN = '<!-- Printed by npm run make:clients-doc from src/cli/clients/clients.ts: change it there. -->\n';
const END = '<!-- The end of what is printed. -->\n';
const LEFT_OUT_BEGIN =
  '<!-- Printed by npm run make:clients-doc from test/unit/translate/left-out.ts: change it there. -->\n';
const LEFT_OUT_END = '<!-- The end of what is left out. -->\n';

function offer(id: string): Offer {
  return {
    ...{ id, provider: '', dialects: [], native: [], output: 0n, isAlias: false },
    contextWindow: 0,
    maxOutput: undefined,
  };
}

const MODELS: Choice = { main: offer('MODEL'), small: offer('SMALL MODEL') };
const SETUP = { url: 'URL', key: 'KEY', models: MODELS };

function row(client: Client): string {
  const file = client.file?.(SETUP);
  const words = client.words?.(SETUP) ?? [];
  const named = words.filter((word) => word !== '-c').map((word) => word.replace(/=.*$/, ''));
  const told = [
    ...Object.keys(client.variables(SETUP)).map((name) => `\`${name}\``),
    ...(named.length > 0
      ? [`the arguments \`${words[0]}\`: ${named.filter((each) => each !== words[0]).join(', ')}`]
      : []),
    ...(file === undefined ? [] : [`\`${file.variable}\`, a folder with \`${file.name}\``]),
  ];
  return `| \`${client.name}\` | ${client.title} | ${client.dialect} | ${told.join(', ')} |`;
}

/** The page with its tables printed anew. */
export function clientsDoc(page: string): string {
  const lines = [
    '| command | client | speaks | is told by |',
    '|---|---|---|---|',
    ...CLIENTS.map(row),
    ...UNSERVED.map(({ name, title, why }) => `| \`${name}\` | ${title} | | refused: ${why} |`),
  ];
  return withTable(withTable(page, [BEGIN, END], lines), [LEFT_OUT_BEGIN, LEFT_OUT_END], leftOutLines());
}

function leftOutLines(): readonly string[] {
  const head = ['named', 'what it is', ...WAYS];
  const rows = LEFT_OUT.map(({ name, what, in: ways }) => [
    `\`${name}\``,
    what,
    ...WAYS.map((way) => (way in ways ? 'yes' : '')),
  ]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

/** The page with these lines between two marks. */
function withTable(page: string, [begin, end]: readonly [string, string], lines: readonly string[]): string {
  const head = page.slice(0, page.indexOf(begin) + begin.length);
  return `${head}\n${lines.join('\n')}\n\n${page.slice(page.indexOf(end))}`;
}

if (import.meta.main) writeFileSync(PAGE, clientsDoc(readFileSync(PAGE, 'utf8')));
