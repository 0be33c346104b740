/** Prints what each client is told, what it was found to do, and what translations leave out: `npm run make:clients-doc`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ModelChoice, Offer } from '../src/cli/clients/choice.ts';
import { CLIENTS, type Client, UNSERVED } from '../src/cli/clients/clients.ts';
import { type Found, featureTable } from '../test/clients/campaign/features.ts';
import { LEFT_OUT, WAYS } from '../test/unit/translate/left-out.ts';

const FOUND: readonly Found[] = JSON.parse(
  readFileSync(new URL('../test/clients/campaign/found.json', import.meta.url), 'utf8'),
);
const PAGE = fileURLToPath(new URL('../docs/clients.md', import.meta.url));
const BEGIN = '<!-- Printed by npm run make:clients-doc from src/cli/clients/clients.ts: change it there. -->\n';
const FOUND_BEGIN = '<!-- Printed by npm run make:clients-doc from what npm run prove -- clients has found. -->\n';
const END = '<!-- The end of what is printed. -->\n';
const LEFT_OUT_BEGIN =
  '<!-- Printed by npm run make:clients-doc from test/unit/translate/left-out.ts: change it there. -->\n';

function offer(id: string): Offer {
  return {
    ...{ id, provider: '', dialects: [], native: [], output: 0n, isAlias: false },
    contextWindow: 0,
    maxOutput: undefined,
  };
}

const MODELS: ModelChoice = { main: offer('MODEL'), small: offer('SMALL MODEL') };
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

/** The page with what stands between a line and the next `END` printed anew. */
function printed(page: string, begin: string, lines: readonly string[]): string {
  const start = page.indexOf(begin) + begin.length;
  return `${page.slice(0, start)}\n${lines.join('\n')}\n\n${page.slice(page.indexOf(END, start))}`;
}

/** The page with its tables printed anew. */
export function clientsDoc(page: string, found: readonly Found[] = FOUND): string {
  const told = [
    '| command | client | speaks | is told by |',
    '|---|---|---|---|',
    ...CLIENTS.map(row),
    ...UNSERVED.map(({ name, title, why }) => `| \`${name}\` | ${title} | | refused: ${why} |`),
  ];
  const tables: readonly [begin: string, lines: readonly string[]][] = [
    [BEGIN, told],
    [FOUND_BEGIN, featureTable(found)],
    [LEFT_OUT_BEGIN, leftOutLines()],
  ];
  return tables.reduce((page, [begin, lines]) => printed(page, begin, lines), page);
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

if (import.meta.main) writeFileSync(PAGE, clientsDoc(readFileSync(PAGE, 'utf8')));
