/** The items of the Overview: troubles, the busiest keys, and the upstreams. Pure. */
import type { KeyActivityRow } from '../../control/protocol.ts';
import type { UpstreamHealth } from '../../observe/worker-snapshot.ts';
import { byHealth } from '../../operator/health.ts';
import type { Model } from '../model.ts';
import { activityOf, keyNames } from '../select.ts';
import { MOST_TROUBLES, type Trouble, troublesOf } from '../trouble.ts';
import { type Listed, shownOf } from './list.ts';

export type OverviewItem =
  | { readonly kind: 'trouble'; readonly trouble: Trouble }
  | { readonly kind: 'key'; readonly key: KeyActivityRow }
  | { readonly kind: 'upstream'; readonly upstream: UpstreamHealth };

export const OVERVIEW: Listed<OverviewItem> = {
  rows: itemsOf,
  idOf(item) {
    switch (item.kind) {
      case 'trouble':
        return `trouble ${item.trouble.about}`;
      case 'key':
        return `key ${item.key.id}`;
      case 'upstream':
        return `upstream ${item.upstream.upstream}`;
    }
  },
  fields: {
    name: {
      read(item, model) {
        switch (item.kind) {
          case 'trouble':
            return item.trouble.text;
          case 'key':
            return keyNames(model)(item.key.id);
          case 'upstream':
            return item.upstream.upstream;
        }
      },
      isText: true,
      isHidden: true,
    },
    kind: { read: ({ kind }) => kind, isHidden: true, isText: true },
    state: {
      read: (item) => (item.kind === 'upstream' ? item.upstream.state.replace('_', '-') : undefined),
      isText: true,
      isHidden: true,
    },
  },
};

function itemsOf(model: Model): OverviewItem[] {
  return [
    ...troublesOf(model)
      .slice(0, MOST_TROUBLES)
      .map((trouble) => ({ kind: 'trouble', trouble }) as const),
    ...activityOf(model).busiest.map((key) => ({ kind: 'key', key }) as const),
    ...byHealth(model.snapshot?.upstreams ?? []).map((upstream) => ({ kind: 'upstream', upstream }) as const),
  ];
}

export function chosenItem(model: Model): OverviewItem | undefined {
  return shownItems(model)[model.lists.overview.cursor];
}

/** Maps the indexes of these keys or upstreams to their indexes among the items. */
export function placesOf(model: Model, parts: readonly (KeyActivityRow | UpstreamHealth)[]): (index: number) => number {
  const all = shownItems(model).map(partOf);
  return (index) => all.indexOf(parts[index]);
}

function partOf(item: OverviewItem): KeyActivityRow | UpstreamHealth | undefined {
  switch (item.kind) {
    case 'trouble':
      return undefined;
    case 'key':
      return item.key;
    case 'upstream':
      return item.upstream;
  }
}

/** Returns the upstream whose failures are open. */
export function openUpstream(model: Model): UpstreamHealth | undefined {
  const item = model.overview.isOpen ? chosenItem(model) : undefined;
  return item?.kind === 'upstream' ? item.upstream : undefined;
}

export function shownItems(model: Model): readonly OverviewItem[] {
  return shownOf('overview', OVERVIEW, model);
}
