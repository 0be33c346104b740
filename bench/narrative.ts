/** The prose around the tables: the servers, the method, and how to read a row. */
import { BARS, shownBar } from './bars.ts';
import { CRASH, GATEWAY, YARDSTICK } from './contestants.ts';
import type { Machine } from './machine.ts';
import { FLOOR, type Lengths } from './phases/bench.ts';
import { type Rows, rowName } from './rows.ts';
import { BARE_PROXY } from './targets.ts';
import { closedName, THROUGHPUT, USUAL_CONNECTIONS } from './workloads.ts';

export interface Circumstances {
  readonly machine: Machine;
  readonly lengths: Lengths;
  readonly isFull: boolean;
  /** Whether the load generator and the upstream are the ones in C. */
  readonly areNative: boolean;
}

/** The warning above the figures. Empty if the figures can be quoted. */
export function warning({ machine, isFull }: Circumstances): string {
  const reasons = [
    ...(isFull ? [] : ['this was a short run, to try the script']),
    ...(machine.wasIdle ? [] : ['the machine was not idle at the start']),
  ];
  return reasons.length === 0 ? '' : `> **Do not quote these figures**: ${reasons.join(', and ')}.\n`;
}

export function method({ lengths, areNative }: Circumstances): string {
  const helpers = areNative
    ? 'The load generator and the upstream are in C'
    : 'Without a C compiler the load generator and the upstream are in Node, and take more of the cores than the servers do';
  return `${helpers} ([bench/native](../bench/native)) and share the cores with the servers. Each figure is the median of ${lengths.rounds} rounds, in which the servers take turns; a ratio is the median of the rounds' ratios. An unexpected response ends the benchmark. Afterwards each gateway's journal must contain one row per response, and no money may be held. [bench/workloads.ts](../bench/workloads.ts) and [bench/phases](../bench/phases) define the rows. In brackets: the difference from the upstream alone. CPU is the user and kernel time of all threads of the server.`;
}

export function contestants(): string {
  return [
    `- **${YARDSTICK}**: [bench/barest-proxy.js](../bench/barest-proxy.js), the shortest proxy on node:http and undici's \`dispatch\`, without checks and ledger; **${BARE_PROXY}**: [bench/bare-proxy.js](../bench/bare-proxy.js), on undici's \`request\``,
    `- **${GATEWAY}**: default settings with \`log: warn\`, one thread; **\`${CRASH}\`**: with that setting`,
  ].join('\n');
}

/** Whether the load generator and the upstream were fast enough to measure the proxies. */
export function headroom(rows: Rows): string {
  const throughput = rows.get(rowName(closedName(USUAL_CONNECTIONS), THROUGHPUT));
  const ratio = throughput?.ratio(FLOOR, YARDSTICK);
  if (ratio === undefined) return '';
  return `Headroom with ${closedName(USUAL_CONNECTIONS)}: ${ratio.toFixed(1)} times the ${YARDSTICK}'s requests without a proxy.`;
}

/** The measured targets, by verdict. */
function judged(rows: Rows): { readonly met: readonly string[]; readonly missed: readonly string[] } {
  const shown = BARS.flatMap((bar) => {
    const row = rows.get(bar.row);
    const text = row === undefined ? '' : shownBar(bar, row);
    return text === '' ? [] : [text];
  });
  const { met = [], missed = [] } = Object.groupBy(shown, (text) => (text.endsWith('met') ? 'met' : 'missed'));
  return { met, missed };
}

/** Whether all targets that were measured are met. */
export function meetsTargets(rows: Rows): boolean {
  return judged(rows).missed.length === 0;
}

/** Counts the targets met. */
export function verdict(rows: Rows): string {
  const { met, missed } = judged(rows);
  const count = met.length + missed.length;
  return missed.length === 0 ? `All ${count} targets are met.` : `${met.length} of ${count} targets are met.`;
}
