/** The words around the tables: what was run, how, and how a row is read. */
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
}

/** What must be read before any figure. */
export function warning({ machine, isFull }: Circumstances): string {
  const reasons = [
    ...(isFull ? [] : ['it was a short run, to try the script out']),
    ...(machine.wasIdle ? [] : ['the machine was not idle when it began']),
  ];
  return reasons.length === 0 ? '' : `> **Not to be quoted**: ${reasons.join(', and ')}.\n`;
}

export function method({ lengths }: Circumstances): string {
  return `
Load generator, upstream, and each server are processes of their own on one machine, and share its cores. The upstream answers from bytes made beforehand. Every figure is the median of ${lengths.rounds} rounds;
in each round all servers take their turn, there and back again. A ratio is the median of the ratios within the rounds. An answer other than the expected one ends the benchmark, and at the end
each gateway's journal must have one row for each answer, and no money held.`.trim();
}

export function contestants(): string {
  return `
- **${FLOOR}**: the load generator straight at the upstream: what the two can do, and the latency that is not the servers'.
- **${BARE_PROXY}**: [bench/bare-proxy.js](../bench/bare-proxy.js), node:http and undici's \`request\` with \`pipeline\`, as most are written.
- **${BAREST_PROXY}**: [bench/barest-proxy.js](../bench/barest-proxy.js), node:http and undici's \`dispatch\`: the least that one can write.
- The yardstick of the targets is the **${YARDSTICK}**: node:http and undici with no checks and no ledger, the proxy that the targets were set by. Ratios to the other one stand beside.
- **${GATEWAY}**: as it runs unless configured: the ledger on, each charge synced to the disk before its answer ends, one thread; only the log is at \`warn\`.
- **\`${CRASH}\`**, **\`${THREADS}\`**, **\`${LOG}\`**: the same with that one setting; in brackets the ratio to the ${YARDSTICK}.
- What 100,000 keys and 10,000,000 requests in the state file change is measured by \`npm run bench:scale\`: see [ARCHITECTURE.md](ARCHITECTURE.md).`.trim();
}

/** One line for each kind of row, so that nobody has to guess. */
export function rowsExplained(): string {
  const kinds = [
    ...workloads(1).map(({ name, about }) => ({ name, about })),
    ...holdings.map(({ name, about }) => ({ name, about })),
  ];
  const first = kinds.find(({ name }) => name === closedName(1));
  const rest = kinds.filter(({ about }) => about !== first?.about);
  return [
    '- *process*: from the start of a process to its first 200, a request sent every 2 ms; its memory (RSS) 0.3 s later',
    `- *1 connection*, and more of them: ${first?.about}`,
    ...rest.map(({ name, about }) => `- *${name}*: ${about}`),
    '- *p50, p99, p99.9*: as the client sees it, and in brackets what comes on top of the upstream alone; ratios are of the whole',
    '- *CPU*: user and kernel time of all threads of the server, by the work done; a server that uses less leaves more to others',
    '- *memory per stream*: what the process has grown by once all of them are open, by their number, garbage collected before and meanwhile',
  ].join('\n');
}

/** Whether the generator and the upstream were quick enough to measure the proxies. */
export function headroom(rows: Rows): string {
  const throughput = rows.get(rowName(closedName(USUAL_CONNECTIONS), THROUGHPUT));
  const ratio = throughput?.ratio(FLOOR, YARDSTICK);
  if (ratio === undefined) return '';
  return `Headroom: with ${closedName(USUAL_CONNECTIONS)} load and upstream alone did ${ratio.toFixed(1)} times as many requests as through the ${YARDSTICK}.`;
}

/** How many of the targets are met. */
export function verdict(rows: Rows): string {
  const shown = BARS.flatMap((bar) => {
    const row = rows.get(bar.row);
    const text = row === undefined ? '' : shownBar(bar, row);
    return text === '' ? [] : [{ text: `${bar.row}: ${text}`, isMet: text.endsWith('met') }];
  });
  const missed = shown.filter(({ isMet }) => !isMet).map(({ text }) => `- ${text}`);
  if (missed.length === 0) return `All ${shown.length} targets are met.`;
  return [`${shown.length - missed.length} of ${shown.length} targets are met. The others:`, '', ...missed].join('\n');
}
