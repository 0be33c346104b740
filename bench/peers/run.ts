/**
 * The gateway and other gateways, under the same load. `npm run bench:peers -- --help` lists the
 * options.
 */
import { parseArgs } from 'node:util';
import { type Bar, rowsOfPage } from '../bars.ts';
import { GATEWAY, usualServers } from '../contestants.ts';
import { DOCUMENT, writePart } from '../document.ts';
import { describeMachine } from '../machine.ts';
import { endOnSignals, measure } from '../measure.ts';
import { headroom, warning } from '../narrative.ts';
import { type Options, optionsOf, SHARED_HELP, SHARED_OPTIONS } from '../options.ts';
import { FLOOR } from '../phases/bench.ts';
import { rowName } from '../rows.ts';
import { barColumn, type Column, ratioColumn, tableOf, valueColumn } from '../table.ts';
import { BARE_PROXY, BAREST_PROXY, type Server } from '../targets.ts';
import { closedName, THROUGHPUT, USUAL_CONNECTIONS } from '../workloads.ts';
import { type CommandPeer, commandPeer } from './command.ts';
import { installPeers } from './install.ts';
import { NGINX, nginx, nginxVersion } from './nginx.ts';
import { PORTKEY, portkey, portkeyVersion } from './portkey.ts';

const HELP = `npm run bench:peers [-- …]
${SHARED_HELP}
  --command LINE      also measure the gateway that this shell command starts; its environment has
                      PORT to listen on and UPSTREAM, the base URL of the upstream
  --name NAME         its name in the table
  --key KEY           the API key to send to it`;

const BARS: readonly Bar[] = [
  {
    row: rowName(closedName(USUAL_CONNECTIONS), THROUGHPUT),
    target: GATEWAY,
    other: PORTKEY,
    of: 'ratio',
    is: 'at least',
    limit: 10,
    unit: '×',
  },
];

/** Another gateway: its name, a line about it, and how to set it up. */
interface Peer {
  readonly name: string;
  readonly about: string;
  create(upstreamPort: number): Promise<Server>;
}

function peersOf(command: CommandPeer | undefined): Peer[] {
  const nginxIs = nginxVersion();
  return [
    {
      name: PORTKEY,
      about: `@portkey-ai/gateway ${portkeyVersion()} from npm, no keys, no limits, no accounting`,
      create: portkey,
    },
    ...(nginxIs === undefined
      ? []
      : [
          {
            name: NGINX,
            about: `${nginxIs}, one worker, as a plain proxy`,
            create: nginx,
          },
        ]),
    ...(command === undefined
      ? []
      : [
          {
            name: command.name,
            about: `\`${command.line}\``,
            create: (upstreamPort: number) => commandPeer(command, upstreamPort),
          },
        ]),
  ];
}

function columnsOf(servers: readonly string[], peers: readonly Peer[]): Column[] {
  return [
    ...servers.map(valueColumn),
    ...peers.flatMap(({ name }) => [
      valueColumn(name),
      { ...ratioColumn(GATEWAY, name), head: `${GATEWAY} : ${name}` },
    ]),
    barColumn(BARS),
  ];
}

async function main(options: Options, command: CommandPeer | undefined): Promise<void> {
  installPeers();
  const peers = peersOf(command);
  const machine = describeMachine();
  const { rows, areNative } = await measure(options, async (upstreamPort) => [
    ...(await usualServers(upstreamPort)),
    ...(await Promise.all(peers.map((peer) => peer.create(upstreamPort)))),
  ]);
  const circumstances = { machine, lengths: options.lengths, isFull: options.isFull, areNative };
  const table = tableOf(rows.all, columnsOf([FLOOR, BARE_PROXY, BAREST_PROXY, GATEWAY], peers));
  console.log(`${circumstances.machine.text}\n\n${table}\n\n${headroom(rows)}`);
  if (options.only !== '') return;
  writePart(
    'peers',
    `## Other gateways

${warning(circumstances)}
${circumstances.machine.text}
- to repeat it: \`npm ci && npm run bench:peers\`, on an otherwise idle machine
${peers.map(({ name, about }) => `- **${name}**: ${about}`).join('\n')}

${tableOf(rowsOfPage(rows.all), columnsOf([GATEWAY], peers))}

${headroom(rows)}
`,
  );
  console.log(`\nwrote ${DOCUMENT}`);
}

const { values } = parseArgs({
  options: { ...SHARED_OPTIONS, command: { type: 'string' }, name: { type: 'string' }, key: { type: 'string' } },
});
if (values.help) console.log(HELP);
else {
  endOnSignals();
  const { command: line, name = 'another', key = 'ignored' } = values;
  await main(optionsOf(values), line === undefined ? undefined : { line, name, key });
}
