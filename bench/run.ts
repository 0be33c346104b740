/**
 * The benchmark: the gateway and bare node:http + undici proxies, in turn, in the same run on
 * the same machine. Prints one table and writes its main rows to docs/benchmarks.md.
 * `npm run bench -- --help` lists the options.
 */
import { parseArgs } from 'node:util';
import { BARS, rowsOfPage } from './bars.ts';
import {
  CRASH,
  GATEWAY,
  OTHER_GATEWAY,
  otherGateway,
  usualServers,
  VARIANT_NAMES,
  variantServers,
  YARDSTICK,
} from './contestants.ts';
import { DOCUMENT, writePart } from './document.ts';
import { describeMachine } from './machine.ts';
import { endOnSignals, measure } from './measure.ts';
import { type Circumstances, contestants, headroom, meetsTargets, method, verdict, warning } from './narrative.ts';
import { type Options, optionsOf, SHARED_HELP, SHARED_OPTIONS } from './options.ts';
import { FLOOR } from './phases/bench.ts';
import type { Rows } from './rows.ts';
import { barColumn, type Column, comparedColumn, ratioColumn, tableOf, valueColumn } from './table.ts';
import { BARE_PROXY, BAREST_PROXY, type Server } from './targets.ts';

const HELP = `npm run bench [-- …]
${SHARED_HELP}
  --compare CHECKOUT  another checkout of the gateway, already built, instead of the variants;
                      does not write docs/benchmarks.md
It fails if a target is missed.`;

interface RunOptions extends Options {
  readonly compare: string | undefined;
}

async function serversOf({ compare, isQuick }: RunOptions, upstreamPort: number): Promise<Server[]> {
  const usual = await usualServers(upstreamPort);
  if (compare !== undefined) return [...usual, await otherGateway(compare, upstreamPort)];
  return isQuick ? usual : [...usual, ...(await variantServers(upstreamPort))];
}

function columnsOf({ compare, isQuick }: RunOptions): Column[] {
  const others = compare !== undefined ? [OTHER_GATEWAY] : isQuick ? [] : VARIANT_NAMES;
  return [
    ...[FLOOR, BARE_PROXY, BAREST_PROXY, GATEWAY].map(valueColumn),
    ratioColumn(GATEWAY, BARE_PROXY),
    ratioColumn(GATEWAY, BAREST_PROXY),
    ...others.map((name) => comparedColumn(name, YARDSTICK)),
    barColumn(BARS),
  ];
}

/** The columns of the page: the gateway and the proxy that sets its targets. */
function pageColumns({ isQuick }: RunOptions): Column[] {
  return [
    ...[YARDSTICK, GATEWAY].map(valueColumn),
    ratioColumn(GATEWAY, YARDSTICK),
    ...(isQuick ? [] : [{ ...ratioColumn(CRASH, YARDSTICK), head: `${CRASH} : ${YARDSTICK}` }]),
    barColumn(BARS),
  ];
}

function documentOf(rows: Rows, options: RunOptions, circumstances: Circumstances): string {
  return `${warning(circumstances)}
${circumstances.machine.text}
- to repeat it: \`npm ci && npm run bench\`, on an otherwise idle machine
${contestants()}

${tableOf(rowsOfPage(rows.all), pageColumns(options))}

${verdict(rows)} ${headroom(rows)}

${method(circumstances)}
`;
}

async function main(options: RunOptions): Promise<void> {
  const machine = describeMachine();
  const { rows, areNative } = await measure(options, (port) => serversOf(options, port));
  const circumstances = { machine, lengths: options.lengths, isFull: options.isFull, areNative };
  const table = tableOf(rows.all, columnsOf(options));
  if (!meetsTargets(rows)) process.exitCode = 1;
  console.log(`${circumstances.machine.text}\n\n${table}\n\n${verdict(rows)}\n${headroom(rows)}`);
  if (options.only !== '' || options.compare !== undefined) return;
  writePart('gateway', documentOf(rows, options, circumstances));
  console.log(`\nwrote ${DOCUMENT}`);
}

const { values } = parseArgs({ options: { ...SHARED_OPTIONS, compare: { type: 'string' } } });
if (values.help) console.log(HELP);
else {
  endOnSignals();
  await main({ ...optionsOf(values), compare: values.compare });
}
