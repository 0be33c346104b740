/** Searching the journal: page by page, as far as the screen needs it. Pure. */

import { JOURNAL, journalWords, searchOf } from '../lists/journal.ts';
import { filtered } from '../lists/list.ts';
import type { Model } from '../model.ts';
import { type RequestsRead, type Step, step } from './step.ts';

/** Rows beyond the cursor that are read before they are needed, in screens. */
const SCREENS_AHEAD = 2;
/** How many found requests are kept. Beyond, those at the top are dropped; Home reads them again. */
export const MAX_FOUND = 10_000;

/** Searches from the newest request on. */
export function searched(model: Model): Step {
  const search = model.requests.search + 1;
  const requests = { ...model.requests, rows: [], search, isReading: true, next: undefined };
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
  const found = [...before, ...filtered(JOURNAL, page.rows, journalWords(model), model)];
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
    },
  };
  return readOn(next);
}

/** Asks for the next page where the cursor comes near the end of what was found. */
export function readOn(model: Model): Step {
  const { requests, lists, rows } = model;
  const { isReading, next, search } = requests;
  const wanted = lists.requests.cursor + SCREENS_AHEAD * rows;
  const isEnough = isReading || next === undefined || requests.rows.length >= wanted;
  if (model.view !== 'requests' || isEnough) return step(model);
  return step(
    { ...model, requests: { ...requests, isReading: true } },
    { kind: 'load_requests', search, query: searchOf(model), after: next },
  );
}
