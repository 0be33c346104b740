/** Prints what each client is told, what it was found to do, and which hosts it reaches, and what translations leave out: `npm run make:clients-doc`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ModelChoice, Offer } from '../src/cli/clients/choice.ts';
import { CLIENTS, type Client } from '../src/cli/clients/clients.ts';
import type { DialectName } from '../src/core/dialects.ts';
import { isReachable } from '../src/translate/translate.ts';
import { type Found, featureTable } from '../test/clients/campaign/features.ts';
import { type RunFound, runTable } from '../test/clients/campaign/run-findings.ts';
import { LEFT_OUT, CLIENTS as READ, type Client as ReadClient } from '../test/unit/translate/left-out.ts';
import { lossOf, type Outcome, WAYS } from '../test/unit/translate/losses.ts';

const FOUND: readonly Found[] = JSON.parse(
  readFileSync(new URL('../test/clients/campaign/found.json', import.meta.url), 'utf8'),
);
const RUNS: readonly RunFound[] = JSON.parse(
  readFileSync(new URL('../test/clients/campaign/runs-found.json', import.meta.url), 'utf8'),
);
const PAGE = fileURLToPath(new URL('../docs/clients.md', import.meta.url));
const BEGIN = '<!-- Printed by npm run make:clients-doc from src/cli/clients/clients.ts: change it there. -->\n';
const FOUND_BEGIN = '<!-- Printed by npm run make:clients-doc from what npm run prove -- clients has found. -->\n';
const RUNS_BEGIN = '<!-- Printed by npm run make:clients-doc from what agents did by run. -->\n';
const END = '<!-- The end of what is printed. -->\n';
const REACH_BEGIN = '<!-- Printed by npm run make:clients-doc from src/translate/translate.ts: change it there. -->\n';
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
    ...(file === undefined
      ? []
      : [`\`${file.variable}\`, a ${file.variableNames === 'file' ? 'file' : `folder with \`${file.name}\``}`]),
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
  const told = ['| command | client | speaks | is told by |', '|---|---|---|---|', ...CLIENTS.map(row)];
  const tables: readonly [begin: string, lines: readonly string[]][] = [
    [BEGIN, told],
    [FOUND_BEGIN, featureTable(found)],
    [RUNS_BEGIN, runTable(RUNS)],
    [REACH_BEGIN, reachLines()],
    [LEFT_OUT_BEGIN, leftOutLines()],
  ];
  return tables.reduce((page, [begin, lines]) => printed(page, begin, lines), page);
}

/** Dialects of hosts, and who speaks them. */
const SPOKEN: readonly (readonly [DialectName, hosts: string])[] = [
  ['chat', 'OpenAI and all that are like it'],
  ['responses', 'OpenAI, Azure, …'],
  ['messages', 'Anthropic; Claude at Bedrock, Vertex AI and Foundry'],
  ['gemini', 'Google; Gemini at Vertex AI'],
  ['converse', 'Bedrock, but for Claude'],
];

const EMBEDDED: typeof SPOKEN = [
  ['embeddings', 'OpenAI and all that are like it'],
  ['gemini_embeddings', 'Google'],
  ['vertex_embeddings', 'Vertex AI'],
];

function reachLines(): readonly string[] {
  return [...reachOf(READ, SPOKEN), '', ...reachOf(['embeddings', 'gemini_embeddings'], EMBEDDED)];
}

function reachOf(clients: readonly DialectName[], spoken: typeof SPOKEN): readonly string[] {
  const head = ['client', ...spoken.map(([dialect, hosts]) => `hosts of \`${dialect}\` (${hosts})`)];
  const rows = clients.map((client) => {
    const cells = spoken.map(([dialect]) =>
      dialect === client ? 'as it is' : isReachable(client, [dialect]) ? 'translated' : 'no',
    );
    return [`\`${client}\``, ...cells];
  });
  return tableOf(head, rows);
}

const CELLS: Readonly<Record<Outcome, string>> = { kept: '', 'left out': 'left out', refused: '400' };

/** A table for each client, with a column for each dialect of hosts. */
function leftOutLines(): readonly string[] {
  return READ.flatMap((client, index) => [
    ...(index === 0 ? [] : ['']),
    `Of clients of **${client}**:`,
    '',
    ...lossesOf(client),
  ]);
}

function lossesOf(client: ReadClient): readonly string[] {
  const ways = WAYS.filter((way) => way.client === client);
  const head = ['named', 'what it is', ...ways.map(({ host }) => host)];
  const rows = LEFT_OUT.flatMap((row) => {
    const fields = row.by[client];
    if (fields === undefined) return [];
    const outcomes = ways.map((way) => CELLS[lossOf(row, fields, way).outcome]);
    return [[`\`${row.name}\``, row.what, ...outcomes]];
  });
  return tableOf(head, rows);
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

if (import.meta.main) writeFileSync(PAGE, clientsDoc(readFileSync(PAGE, 'utf8')));
