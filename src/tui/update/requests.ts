/** Searching the journal: page by page, as far as the screen needs it. Pure. */

import type { JournalPlace } from '../../state/requests.ts';
import { JOURNAL, journalWords, searchOf } from '../lists/journal.ts';
import { filtered } from '../lists/list.ts';
import type { FoundPage, FoundRequest, Model } from '../model.ts';
import { keyNames } from '../select.ts';
import { type RequestsRead, type Step, step } from './step.ts';

/** Rows beyond the cursor that are read before they are needed, in screens. */
const SCREENS_AHEAD = 2;
/** How many found requests are kept. Beyond, those at the top are dropped; Home reads them again. */
export const MAX_FOUND = 10_000;

/** From so many requests on that were looked through, a search is not begun anew by itself. */
export const LONG_SEARCH = 5_000;

/** Searches from the newest request on. */
export function searched(model: Model): Step {
  const search = model.requests.search + 1;
  const fresh = { rows: [], isReading: true, next: undefined, looked: 0, isStopped: false };
  const requests = { ...model.requests, search, ...fresh };
  return step({ ...model, requests }, { kind: 'load_requests', search, query: searchOf(model), after: undefined });
}

/** Reads the newest again, in place of what was read. */
export function refreshed(model: Model): Step {
  const { search } = model.requests;
  return step(model, { kind: 'load_requests', search, query: searchOf(model), after: undefined });
}

/** Takes a page, and asks for the next if the screen has room for more. */
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
    },
  };
  return readOn(next);
}

/** The gateway knows keys by their ids. */
function named(rows: readonly FoundRequest[], model: Model): readonly FoundRequest[] {
  const nameOf = keyNames(model);
  return rows.map((row) => (row.refused === undefined ? row : { ...row, key: nameOf(row.keyId) }));
}

/** How many requests lie in a page, those included that the state has passed over. */
function passedBy(after: JournalPlace | undefined, { rows, next }: FoundPage): number {
  const isKnown = after !== undefined && next !== undefined && after.row > 0n && next.row > 0n;
  const apart = isKnown ? Number(after.row - next.row) : 0;
  return Math.max(apart, rows.length);
}

/** Whether a search takes its time: whoever waits for it may want to stop it. */
export function isLooking({ isReading, looked }: Model['requests']): boolean {
  return isReading && looked >= LONG_SEARCH;
}

/** Looks no further back; what was found stays. What is being read is dropped when it comes. */
export function stopped(model: Model): Model {
  const { requests } = model;
  return { ...model, requests: { ...requests, search: requests.search + 1, isReading: false, isStopped: true } };
}

/** Asks for the next page where the cursor comes near the end of what was found. */
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
