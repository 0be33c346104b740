/** The prose around the tables: what was run, how, and how to read a row. */
import { BARS, shownBar } from './bars.ts';
import { CRASH, GATEWAY, LOG, THREADS, YARDSTICK } from './contestants.ts';
import type { Machine } from './machine.ts';
import { FLOOR, type Lengths } from './phases/bench.ts';
import { holdings } from './phases/holds.ts';
import { type Rows, rowName } from './rows.ts';
import { BARE_PROXY, BAREST_PROXY } from './targets.ts';
import { closedName, THROUGHPUT, USUAL_CONNECTIONS, workloads } from './workloads.ts';

export interface Circumstances {
  readonly machine: Machine;
  readonly lengths: Lengths;
  readonly isFull: boolean;
  /** Whether the load generator and the upstream are the ones in C. */
  readonly areNative: boolean;
}

/** What readers must know before they read any figure. Empty if the figures can be quoted. */
export function warning({ machine, isFull }: Circumstances): string {
  const reasons = [
    ...(isFull ? [] : ['this was a short run, to try the script']),
    ...(machine.wasIdle ? [] : ['the machine was not idle at the start']),
  ];
  return reasons.length === 0 ? '' : `> **Do not quote these figures**: ${reasons.join(', and ')}.\n`;
}

export function method({ lengths, areNative }: Circumstances): string {
  return `The load generator, the upstream and each server are separate processes on one machine and share its cores. ${areNative ? 'Both are in C' : 'Both are in Node, since there is no C compiler: they take more of the cores than the servers do'} ([bench/native](../bench/native)). The upstream answers with prebuilt bytes. Every figure is the median of ${lengths.rounds} rounds; all servers take turns in each round, in reverse order in every other one. A ratio is the median of the ratios within the rounds. An unexpected response ends the benchmark. At the end each gateway's journal must have one row for each response, and no money may still be held.`;
}

export function contestants(): string {
  return [
    `- **${FLOOR}**: the load generator sends straight to the upstream. This is what the two can do, and the latency that no server adds.`,
    `- **${BARE_PROXY}**: [bench/bare-proxy.js](../bench/bare-proxy.js), node:http and undici's \`request\` with \`pipeline\`, as most proxies are written.`,
    `- **${BAREST_PROXY}**: [bench/barest-proxy.js](../bench/barest-proxy.js), node:http and undici's \`dispatch\`: the least that one can write.`,
    `- The targets are set by the **${YARDSTICK}**, which has no checks and no ledger. Ratios to the other proxy are beside it.`,
    `- **${GATEWAY}**: with default settings: the ledger on, each charge synced to the disk before its response ends, one thread. Only the log level differs: \`warn\`.`,
    `- **\`${CRASH}\`**, **\`${THREADS}\`**, **\`${LOG}\`**: the same with that one setting changed; in brackets the ratio to the ${YARDSTICK}.`,
    '- `npm run bench:scale` measures what 100,000 keys and 10,000,000 requests in the state file change: see [A large state file](#a-large-state-file).',
  ].join('\n');
}

/** One line for each kind of row: what was measured. */
export function rowsExplained(): string {
  const kinds = [
    ...workloads(1).map(({ name, about }) => ({ name, about })),
    ...holdings.map(({ name, about }) => ({ name, about })),
  ];
  const first = kinds.find(({ name }) => name === closedName(1));
  const rest = kinds.filter(({ about }) => about !== first?.about);
  return [
    '- *process*: from the start of a process to its first 200, with a request every 2 ms; its memory (RSS) 0.3 s later',
    `- *1 connection*, and more: ${first?.about}`,
    ...rest.map(({ name, about }) => `- *${name}*: ${about}`),
    '- *p50, p99, p99.9*: as the client sees it, and in brackets what is added to the upstream alone; ratios are of the whole',
    '- *CPU*: user and kernel time of all threads of the server, per unit of work; a server that uses less leaves more to the others',
    '- *memory per stream*: how much the process has grown once all streams are open, divided by their number; garbage is collected before and during',
  ].join('\n');
}

/** Whether the load generator and the upstream were fast enough to measure the proxies. */
export function headroom(rows: Rows): string {
  const throughput = rows.get(rowName(closedName(USUAL_CONNECTIONS), THROUGHPUT));
  const ratio = throughput?.ratio(FLOOR, YARDSTICK);
  if (ratio === undefined) return '';
  return `Headroom: with ${closedName(USUAL_CONNECTIONS)}, the load generator and the upstream alone did ${ratio.toFixed(1)} times as many requests as through the ${YARDSTICK}.`;
}

/** The targets that were measured, as lines: those that are met, and the others. */
function judged(rows: Rows): { readonly met: readonly string[]; readonly missed: readonly string[] } {
  const shown = BARS.flatMap((bar) => {
    const row = rows.get(bar.row);
    const text = row === undefined ? '' : shownBar(bar, row);
    return text === '' ? [] : [`- ${bar.row}: ${text}`];
  });
  const { met = [], missed = [] } = Object.groupBy(shown, (text) => (text.endsWith('met') ? 'met' : 'missed'));
  return { met, missed };
}

/** Whether all targets that were measured are met. */
export function meetsTargets(rows: Rows): boolean {
  return judged(rows).missed.length === 0;
}

/** How many of the targets are met. */
export function verdict(rows: Rows): string {
  const { met, missed } = judged(rows);
  const count = met.length + missed.length;
  if (missed.length === 0) return `All ${count} targets are met.`;
  return [`${met.length} of ${count} targets are met. The others:`, '', ...missed].join('\n');
}
