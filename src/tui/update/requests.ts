/** Searches the journal, page by page as the screen needs it. Pure. */

import type { JournalPlace } from '../../state/requests.ts';
import { JOURNAL, journalWords, searchOf } from '../lists/journal.ts';
import { filtered } from '../lists/list.ts';
import type { FoundPage, FoundRequest, Model } from '../model.ts';
import { keyNames } from '../select.ts';
import { type RequestsRead, type Step, step } from './step.ts';

/** Screens of rows that are loaded ahead of the cursor. */
const SCREENS_AHEAD = 2;
/** Maximum loaded requests. Beyond it the first ones are dropped; Home reads them again. */
export const MAX_FOUND = 10_000;

/** Number of examined requests above which a search is not repeated automatically. */
export const LONG_SEARCH = 5_000;

/** Searches from the newest request. */
export function searched(model: Model): Step {
  const search = model.requests.search + 1;
  const fresh = { rows: [], isReading: true, next: undefined, looked: 0, left: undefined, isStopped: false };
  const requests = { ...model.requests, search, ...fresh };
  return step({ ...model, requests }, { kind: 'load_requests', search, query: searchOf(model), after: undefined });
}

/** Replaces the results by a new search from the newest request. */
export function refreshed(model: Model): Step {
  const { search } = model.requests;
  return step(model, { kind: 'load_requests', search, query: searchOf(model), after: undefined });
}

/** Adds a page, and requests the next one if the screen has room. */
export function withPage(model: Model, { search, after, page }: RequestsRead): Step {
  const { requests } = model;
  if (search !== requests.search) return step(model);
  if (page === undefined) return step({ ...model, requests: { ...requests, isReading: false } });
  const before = after === undefined ? [] : requests.rows;
  const found = [...before, ...filtered(JOURNAL, named(page.rows, model), journalWords(model), model)];
  const dropped = Math.max(0, found.length - MAX_FOUND);
  const { cursor } = model.lists.requests;
  const next: Model = {
    ...model,
    lists: { ...model.lists, requests: { ...model.lists.requests, cursor: Math.max(0, cursor - dropped) } },
    requests: {
      ...requests,
      rows: found.slice(dropped),
      isReading: false,
      next: page.next,
      refusedSinceMs: page.refusedSinceMs,
      looked: (after === undefined ? 0 : requests.looked) + passedBy(after, page),
      left: page.left,
    },
  };
  return readOn(next);
}

/** Adds key names to refusals: the gateway knows keys by id. */
function named(rows: readonly FoundRequest[], model: Model): readonly FoundRequest[] {
  const nameOf = keyNames(model);
  return rows.map((row) => (row.refused === undefined ? row : { ...row, key: nameOf(row.keyId) }));
}

/** Returns the number of examined requests in a page, including those that did not match. */
function passedBy(after: JournalPlace | undefined, { rows, next }: FoundPage): number {
  const isKnown = after !== undefined && next !== undefined && after.row > 0n && next.row > 0n;
  const apart = isKnown ? Number(after.row - next.row) : 0;
  return Math.max(apart, rows.length);
}

/** Whether a long search is in progress, which the user may want to stop. */
export function isLooking({ isReading, looked }: Model['requests']): boolean {
  return isReading && looked >= LONG_SEARCH;
}

/** Stops the search and keeps its results. A page still in flight is dropped when it arrives. */
export function stopped(model: Model): Model {
  const { requests } = model;
  return { ...model, requests: { ...requests, search: requests.search + 1, isReading: false, isStopped: true } };
}

/** Requests the next page if the cursor is near the end of the results. */
export function readOn(model: Model): Step {
  const { requests, lists, rows } = model;
  const { isReading, isStopped, next, search } = requests;
  const wanted = lists.requests.cursor + SCREENS_AHEAD * rows;
  const isEnough = isReading || isStopped || next === undefined || requests.rows.length >= wanted;
  if (model.view !== 'requests' || isEnough) return step(model);
  return step(
    { ...model, requests: { ...requests, isReading: true } },
    { kind: 'load_requests', search, query: searchOf(model), after: next },
  );
}
