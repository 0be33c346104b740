/** The gateways that share a database: who is alive, and what each is doing. */
import { program } from '../../core/program.ts';
import { count, short, usdInColumn } from '../../operator/format.ts';
import { NODE_HEALTH } from '../../operator/health.ts';
import { nodeState } from '../../operator/messages.ts';
import type { NodeRecord, NodeState } from '../../state/nodes.ts';
import { dim, type Line, signed } from '../draw/line.ts';
import { type Column, table } from '../draw/table.ts';
import type { Model, Shared } from '../model.ts';

/** At most `room` lines, those alive first; none if there is no room for one of them. */
export function gateways(model: Model, { nodes, ownNode, isStale }: Shared, width: number, room: number): Line[] {
  if (room < 3) return [];
  if (nodes.length === 0) return [[dim('No gateway has used this database in the last day.')]];
  const hasRoom = nodes.length < room;
  const rows = hasRoom ? nodes : nodes.slice(0, room - 2);
  const isHere = ({ name }: NodeRecord) => model.snapshot !== undefined && name === ownNode;
  const lines = table(columnsOf(model, isHere, isStale), rows, { width, height: rows.length + 1, cursor: -1 });
  return hasRoom ? lines : [...lines, [dim(`${count(nodes.length - rows.length)} more: ${program()} status`)]];
}

/** How many of the gateways are alive, and how many should be. */
export function aliveText({ nodes, isStale }: Shared): string {
  if (isStale) return 'the database is away';
  const numberOf = (wanted: NodeState) => nodes.filter(({ state }) => state === wanted).length;
  const silent = numberOf('silent');
  return `${count(numberOf('alive'))} alive${silent === 0 ? '' : `, ${count(silent)} silent`}`;
}

function columnsOf({ nowMs }: Model, isHere: (node: NodeRecord) => boolean, isStale: boolean): Column<NodeRecord>[] {
  const stateOf = (node: NodeRecord) =>
    isStale ? dim('unknown') : signed(NODE_HEALTH[node.state], nodeState(node, nowMs));
  return [
    { head: 'NODE', width: 10, grows: true, cell: (node) => `${node.name}${isHere(node) ? ' here' : ''}` },
    { head: 'STATE', width: 17, cell: (node) => [stateOf(node)] },
    { head: 'VERSION', width: 8, rank: 3, cell: ({ version }) => version },
    { head: 'ADDRESS', width: 21, rank: 4, cell: ({ address }) => address },
    { head: 'REQ/MIN', width: 7, align: 'right', cell: ({ requestsPerMin }) => short(requestsPerMin) },
    { head: 'TOK/MIN', width: 7, align: 'right', rank: 1, cell: ({ tokensPerMin }) => short(tokensPerMin) },
    { head: 'IN FLIGHT', width: 9, align: 'right', cell: ({ inFlight }) => short(inFlight) },
    { head: 'HELD (USD)', width: 10, align: 'right', rank: 2, cell: ({ heldNanos }) => usdInColumn(heldNanos, 6) },
  ];
}
