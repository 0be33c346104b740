/** What has failed at one upstream in the last hour, by cause. */
import type { UpstreamHealth } from '../../observe/worker-snapshot.ts';
import { ago, count, countOf, short } from '../../operator/format.ts';
import { healthOf, stateText } from '../../operator/health.ts';
import { clean, wrap } from '../../operator/text.ts';
import { bold, dim, type Line, signed, span } from '../draw/line.ts';
import { type Column, table } from '../draw/table.ts';
import type { Model } from '../model.ts';

type Cause = UpstreamHealth['causes'][number];

export function failures({ nowMs }: Model, upstream: UpstreamHealth, width: number, room: number): Line[] {
  const { causes, last_failure: last, requests, in_flight: inFlight } = upstream;
  const head: Line = [
    bold(clean(upstream.upstream)),
    { text: '  ' },
    signed(healthOf(upstream), stateText(upstream)),
    dim(`  ${countOf(requests, 'request')}/min, ${count(inFlight)} in flight`),
  ];
  if (causes.length === 0) return [head, [dim('Nothing has failed in the last hour.')]].slice(0, room);
  const words = last === null ? [] : wrap(clean(`last: ${last.message}`), width).map((text) => [{ text }]);
  const rows = table(columnsOf(nowMs), causes, { width, height: causes.length + 1, cursor: -1 });
  return [head, ...words, ...rows, [dim('Enter: the requests that failed here')]].slice(0, room);
}

function columnsOf(nowMs: number): Column<Cause>[] {
  return [
    { head: 'CAUSE', width: 18, cell: ({ cause }) => cause.replaceAll('_', ' ') },
    { head: 'LAST HOUR', width: 9, align: 'right', cell: (each) => [span(short(each.count), { tone: 'bad' })] },
    { head: 'LAST', width: 8, align: 'right', rank: 1, cell: ({ at_ms: atMs }) => ago((nowMs - atMs) / 1_000) },
    { head: 'MESSAGE', width: 16, grows: true, rank: 2, cell: ({ message }) => message },
  ];
}
