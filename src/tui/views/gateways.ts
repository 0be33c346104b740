/** The gateways that share a database: their state and their load. */
import { Box } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import { program } from '../../core/program.ts';
import { count, short, usdInColumn } from '../../operator/format.ts';
import { NODE_HEALTH } from '../../operator/health.ts';
import { nodeState } from '../../operator/messages.ts';
import type { NodeRecord, NodeState } from '../../state/nodes.ts';
import { Styled } from '../components/styled.ts';
import { Table } from '../components/table.ts';
import { dim, signed } from '../draw/line.ts';
import type { Column } from '../draw/table.ts';
import type { Model, Shared } from '../model.ts';

/** Returns the height of `Gateways`: at most `room`, and 0 if not a single gateway fits. */
export function gatewaysHeight({ nodes }: Shared, room: number): number {
  if (room < 3) return 0;
  return nodes.length === 0 ? 1 : Math.min(nodes.length + 1, room);
}

interface GatewaysProps {
  readonly model: Model;
  readonly shared: Shared;
  readonly width: number;
  /** Height in lines. */
  readonly height: number;
}

/** Lists the gateways, live ones first. */
export function Gateways({ model, shared, width, height }: GatewaysProps): ReactNode {
  const { nodes, ownNode, isStale } = shared;
  if (height === 0) return null;
  if (nodes.length === 0) return h(Styled, { line: [dim('No gateway has used this database in the last day.')] });
  const hasRoom = nodes.length < height;
  const rows = hasRoom ? nodes : nodes.slice(0, height - 2);
  const isHere = ({ name }: NodeRecord) => model.snapshot !== undefined && name === ownNode;
  const more = `${count(nodes.length - rows.length)} more: ${program()} status`;
  return h(
    Box,
    { flexDirection: 'column', flexShrink: 0 },
    h(Table<NodeRecord>, {
      columns: columnsOf(model, isHere, isStale),
      rows,
      width,
      height: rows.length + 1,
      cursor: -1,
    }),
    hasRoom ? null : h(Styled, { line: [dim(more)] }),
  );
}

/** Returns the number of live and of expected gateways. */
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
