/** The Models view: prices, the health of each provider, and each model's share of traffic. */

import { createElement as h, type ReactNode } from 'react';
import type { Model as CatalogModel } from '../../catalog/catalog.ts';
import { unitPricesOf } from '../../catalog/units.ts';
import { unitText } from '../../core/units.ts';
import type { UpstreamHealth, UpstreamState } from '../../observe/worker-snapshot.ts';
import { count, price, short } from '../../operator/format.ts';
import { isUnused } from '../../operator/health.ts';
import { UPSTREAM_STATES } from '../../operator/messages.ts';
import { clean } from '../../operator/text.ts';
import { type ListColumn, ListView } from '../components/list-view.ts';
import type { ViewProps } from '../components/view-props.ts';
import { dim, type Span, signed } from '../draw/line.ts';
import { shownModels } from '../lists/models.ts';
import type { Model } from '../model.ts';

const PRICE_DECIMALS = 4;
const PRICE_WIDTH = 8;
/** Columns for `0.000015 per character`. */
const UNITS_WIDTH = 22;

export function ModelsView({ model, height }: ViewProps): ReactNode {
  const { tierName } = model.stored;
  const rows = shownModels(model);
  return h(ListView<CatalogModel>, {
    model,
    height,
    about: [dim(`${count(rows.length)}, USD per million tokens, requests of this month, tier ${clean(tierName)}`)],
    rows,
    columns: columnsOf(model),
    detail: undefined,
    empty: [[dim('No models in the config. Add some under `providers:`, then press R.')]],
  });
}

function columnsOf(model: Model): ListColumn<CatalogModel>[] {
  const { stored, snapshot } = model;
  const health = (provider: string): Minute => {
    const upstreams = (snapshot?.upstreams ?? []).filter((upstream) => upstream.provider === provider);
    const sum = (read: (upstream: UpstreamHealth) => number) =>
      upstreams.reduce((total, each) => total + read(each), 0);
    return {
      requests: sum(({ requests }) => requests),
      failures: sum(({ failures }) => failures),
      upstreams: upstreams.length,
      unused: upstreams.map(({ state }) => state).filter(isUnused),
    };
  };
  const requests = [...stored.modelUsage.values()].reduce((sum, row) => sum + row.requests, 0);
  const hasUnits = shownModels(model).some((each) => unitPricesOf(each).length > 0);
  const lists = stored.keys.filter(({ record }) => record.allowlist !== null && record.state !== 'deleted');
  const share = ({ id }: CatalogModel) => {
    const used = stored.modelUsage.get(id)?.requests ?? 0;
    if (used === 0) return '-';
    // Shows 0% and 100% only for exact values.
    return used === requests ? '100%' : `${Math.min(99, Math.max(1, Math.round((100 * used) / requests)))}%`;
  };
  return [
    { head: 'MODEL', field: 'model', width: 24, grows: true, cell: ({ id }) => id },
    { head: 'UPSTREAM NAME', field: 'upstream', width: 18, rank: 3, cell: ({ upstream }) => upstream },
    { head: 'INPUT', field: 'input', width: PRICE_WIDTH, align: 'right', cell: (row) => priceOf(row, 'input') },
    {
      head: 'CACHED',
      field: 'cached',
      width: PRICE_WIDTH,
      align: 'right',
      rank: 1,
      cell: (row) => priceOf(row, 'cachedInput'),
    },
    { head: 'OUTPUT', field: 'output', width: PRICE_WIDTH, align: 'right', cell: (row) => priceOf(row, 'output') },
    ...(hasUnits ? [{ head: 'UNITS', width: UNITS_WIDTH, rank: 2, cell: unitPrices }] : []),
    {
      head: 'REQUESTS',
      width: 8,
      align: 'right',
      rank: 2,
      cell: ({ id }) => short(stored.modelUsage.get(id)?.requests ?? 0),
    },
    { head: 'SHARE', field: 'requests', width: 6, align: 'right', cell: share },
    {
      head: 'ALLOWLISTS',
      width: 10,
      align: 'right',
      rank: 4,
      cell: ({ id }) => count(lists.filter(({ record }) => record.allowlist?.includes(id)).length),
    },
    { head: 'PROVIDER', field: 'provider', width: 14, cell: (row) => [healthSpan(row, health(row.provider))] },
  ];
}

/** A price aligned at its decimal point; most prices have two or three decimals. */
function priceOf(model: CatalogModel, kind: 'input' | 'cachedInput' | 'output'): string {
  if (model.isWithoutTokenPrices) return `-${' '.repeat(PRICE_DECIMALS)}`;
  const text = price(model[kind]);
  const decimals = text.length - text.indexOf('.') - 1;
  return text + ' '.repeat(Math.max(0, Math.min(PRICE_DECIMALS - decimals, PRICE_WIDTH - text.length)));
}

/** Prices per unit, such as `0.04 per image`. */
function unitPrices(model: CatalogModel): string {
  return unitPricesOf(model)
    .map(([name, usd]) => `${price(usd)} ${unitText(name)}`)
    .join(', ');
}

/** The last minute of a provider's upstreams. */
interface Minute {
  readonly requests: number;
  readonly failures: number;
  readonly upstreams: number;
  /** The states of its upstreams that currently receive no requests. */
  readonly unused: readonly UpstreamState[];
}

function healthSpan({ active, provider }: CatalogModel, health: Minute): Span {
  if (!active) return dim('no key set');
  const { upstreams, unused } = health;
  const [state, ...others] = new Set(unused);
  if (state !== undefined) {
    const inUse = upstreams - unused.length;
    const text = inUse === 0 && others.length === 0 ? UPSTREAM_STATES[state] : `${inUse}/${upstreams} in use`;
    return signed(inUse === 0 ? 'bad' : 'warn', text);
  }
  if (health.requests === 0) return dim(`· ${provider}`);
  if (health.failures === 0) return signed('good', provider);
  return signed(health.failures < health.requests ? 'warn' : 'bad', `${short(health.failures)} failed`);
}
