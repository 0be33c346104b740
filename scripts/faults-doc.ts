/** Prints the failure matrix of the tests as a page for readers: `npm run make:faults-doc`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Case, Charge, End, Fault, Sight } from '../test/faults/cell.ts';
import { cellsFor, FAMILIES } from '../test/faults/table.ts';
import { wrapProse } from './wrap.ts';

const COSTS: Readonly<Record<Charge, string>> = {
  nothing: 'nothing',
  counted: 'as counted',
  reported: 'as reported',
  held: 'as held',
};

const ENDS: Readonly<Record<End, string>> = {
  'at once': '',
  connect: ', after `connect`',
  first_byte: ', after `first_byte`',
  idle: ', after `idle`',
  'after its answer': '',
};

function sightText(sight: Sight): string {
  if (sight.kind === 'whole') return '200 and the whole response';
  const words = sight.words ? ', and the provider’s message' : '';
  if (sight.kind === 'cut')
    return `200 and what arrived, then the error line (“… ${sight.says} …”${words}) and \`[DONE]\``;
  const status = sight.code === 'invalid_request' ? '400' : '502';
  // A message that is nothing but the provider's own.
  return status === '400'
    ? `${status} \`${sight.code}\`: the provider’s message`
    : `${status} \`${sight.code}\` (“… ${sight.says} …”${words})`;
}

/** The cells of a row, without what the provider does. */
function columns({ stays, leaves }: Case): string[] {
  return [
    `${sightText(stays.sees)}${ENDS[stays.ends]}`,
    COSTS[stays.charge],
    COSTS[leaves.charge],
    stays.asked === leaves.asked ? String(stays.asked) : `${stays.asked}, or ${leaves.asked}`,
  ];
}

function rowsOf(fault: Fault): string[] {
  const kinds = [
    { asks: 'JSON', chosen: fault.json },
    { asks: 'stream', chosen: fault.stream },
  ].flatMap(({ asks, chosen }) => (chosen === undefined ? [] : [{ asks, cells: columns(chosen) }]));
  const [first, second] = kinds;
  const alike = second !== undefined && first?.cells.join() === second.cells.join();
  const shown = alike && first !== undefined ? [{ ...first, asks: 'either' }] : kinds;
  return shown.map(({ asks, cells }) => `| ${[fault.what, asks, ...cells].join(' | ')} |`);
}

/** How to read the tables. */
const NOTES = [
  '**costs**: *nothing*: the request is in the journal with a cost of zero. *As reported*: by the usage that the provider reported. *As held*: the end of the provider’s work was not seen, so the request costs what was held for it at admission, and `inf-gw requests settle` can correct that. *As counted*: the gateway counted the tokens of the request and of what arrived; if nothing arrived, the response counts as one token. Hidden reasoning that the request allows is [added](accounting.md#thinking-that-is-not-shown). Once a provider may have begun to work, a request is never free.',
  '**costs a client that hangs up first**: the request is in the journal as `cancelled`, the connection to the provider of a stream is closed, and its slot is free at once. A request that is no stream is read to its end, since its provider works on and bills it; until then it keeps its slot. If the connection to the provider cannot be made at all, the failure may come before the hang-up: then the journal says `upstream_error`.',
  '**asked**: how often a provider with a single address gets the request.',
  '**after `connect`, `first_byte`, `idle`**: the timeout of that name in the config ends the request. Without such a remark it ends as soon as the failure occurs.',
  '**the provider’s message** is passed on, up to 1,000 characters, only if it contains nothing of the operator’s: no key, header or address, its path included.',
  '**The journal** keeps the reason, which `inf-gw requests show` prints: `not_connected` (it cannot be reached), `first_byte_timeout` (it did not respond in time), `idle_timeout` (it stopped sending), `broken` (the connection was lost), `not_the_protocol` (not in the chat-completions format), `no_progress` (it kept sending, but nothing of its response), `error_event` or `error_answer` (it reported an error in a stream, or with status 200), `rejected` (429, 503, 529), `http_status` (every other error status).',
  'The **error line** is `data: {"error":{"code":"upstream_error","message":"…"}}`. Official clients raise it as an error in the middle of the stream.',
];

/** The page, as docs/ holds it. */
export function faultsDoc(): string {
  const cells = cellsFor(['stays', 'leaves']).length;
  const faults = FAMILIES.flatMap((family) => family.faults).length;
  const tables = FAMILIES.map(
    ({ title, about, faults }) => `## ${title}

${about}

| the provider … | asked for | your client sees | costs | costs a client that hangs up first | asked |
|---|---|---|---|---|---:|
${faults.flatMap(rowsOf).join('\n')}
`,
  );
  return wrapProse(`<!-- Printed by npm run make:faults-doc from test/faults: change it there. -->

# Every failure of a provider

What your client sees when a provider misbehaves, and what it costs; [failures.md](failures.md) says it in short. Each row is a test that plays the failure byte by byte against a real gateway, once with a client that stays and once with one that hangs up before the failure: ${faults} failures, ${cells} cases. After each of them the request is settled, its slot is free, and no useless connection is left.

How to read the tables:

${NOTES.map((note) => `- ${note}`).join('\n')}

${tables.join('\n')}`);
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('../docs/faults.md', import.meta.url)), faultsDoc());
