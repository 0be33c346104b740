/** Events and effects of the dashboard, and helpers for the steps that produce them. */
import type { Snapshot, TrafficRow } from '../../control/protocol.ts';
import { MAX_ENDED, type RequestRow } from '../../observe/worker-snapshot.ts';
import type { CreditEntry } from '../../state/account.ts';
import type { JournalPlace } from '../../state/requests.ts';
import type { UsageGroup } from '../../state/usage.ts';
import type { Action, AnyAction, Subject } from '../actions.ts';
import type { Tone } from '../draw/line.ts';
import type { HistorySpan } from '../history.ts';
import type {
  ComparedUsage,
  FoundPage,
  KeyDetail,
  Model,
  PlottedCost,
  Range,
  RequestSearch,
  Shared,
  Stored,
  StoredUser,
  UsageOf,
} from '../model.ts';
import type { Click, MouseAction } from '../pointer.ts';

export type Event =
  /** A character, or the name of a key: `up`, `enter`, `escape`, `ctrl+c`. */
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'paste'; readonly text: string }
  /** `on`: the clicked item. */
  | { readonly kind: 'mouse'; readonly action: MouseAction; readonly on: Click | undefined }
  | { readonly kind: 'resize'; readonly columns: number; readonly rows: number }
  | { readonly kind: 'tick'; readonly nowMs: number }
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot }
  /** `socketError`: the reason for distrusting the control socket, if any. */
  | { readonly kind: 'disconnected'; readonly socketError?: string }
  | { readonly kind: 'stored'; readonly stored: Stored }
  | { readonly kind: 'shared'; readonly shared: Shared | undefined }
  | { readonly kind: 'key_detail'; readonly detail: KeyDetail }
  | {
      readonly kind: 'users';
      readonly ownerId: string;
      /** Start of the page. */
      readonly after: string;
      readonly users: readonly StoredUser[];
      readonly hasMore: boolean;
    }
  | { readonly kind: 'usage'; readonly rows: readonly ComparedUsage[] }
  /** Undefined after a failed read. */
  | { readonly kind: 'plot'; readonly plot: PlottedCost | undefined }
  | RequestsRead
  /** Minutes from the journal. */
  | { readonly kind: 'history'; readonly rows: readonly TrafficRow[] }
  /** Journal rows read by the audit, and the total. */
  | { readonly kind: 'audit_progress'; readonly read: number; readonly of: number }
  | { readonly kind: 'audit_ended'; readonly title: string; readonly lines: readonly string[]; readonly tone: Tone }
  /** All entries, oldest first. */
  | { readonly kind: 'credit_history'; readonly entries: readonly CreditEntry[] }
  | Outcome
  /** The result of a recorded action. */
  | {
      readonly kind: 'done';
      readonly action: AnyAction;
      /** The key, group or end user before the action. */
      readonly before: Subject | undefined;
      readonly undoes: number | undefined;
      readonly atMs: number;
      readonly outcome: Outcome | KeyCreated;
    }
  /** A failure whose text may be too long for the message line. */
  | { readonly kind: 'failed'; readonly title: string; readonly lines: readonly string[] }
  | KeyCreated;

interface Outcome {
  readonly kind: 'outcome';
  readonly text: string;
  readonly tone: Tone;
}

interface KeyCreated {
  readonly kind: 'key_created';
  readonly name: string;
  readonly secret: string;
}

/** A page of the journal. */
export interface RequestsRead {
  readonly kind: 'requests';
  readonly search: number;
  /** Start of the page; undefined for the first. */
  readonly after: JournalPlace | undefined;
  /** Undefined after a failed read. */
  readonly page: FoundPage | undefined;
}

/** Loads a page of the journal. */
export interface LoadRequests {
  readonly kind: 'load_requests';
  readonly search: number;
  readonly query: RequestSearch;
  readonly after: JournalPlace | undefined;
}

export type Effect =
  | { readonly kind: 'quit' }
  | { readonly kind: 'act'; readonly action: Action; readonly undoes?: number }
  | { readonly kind: 'reload' }
  | { readonly kind: 'audit' }
  | { readonly kind: 'stop_audit' }
  | { readonly kind: 'load_credit' }
  | { readonly kind: 'load_key'; readonly keyId: string }
  /** Loads the visible pages of end users that are not loaded yet. */
  | { readonly kind: 'load_users' }
  | { readonly kind: 'load_usage'; readonly by: UsageGroup; readonly range: Range; readonly of: UsageOf }
  | LoadRequests
  | { readonly kind: 'load_history'; readonly span: HistorySpan }
  | { readonly kind: 'copy'; readonly text: string }
  | { readonly kind: 'export'; readonly path: string }
  /** Writes the screen to a file as an image. */
  | { readonly kind: 'picture' };

export interface Step {
  readonly model: Model;
  readonly effects: readonly Effect[];
}

export function step(model: Model, ...effects: readonly Effect[]): Step {
  return { model, effects };
}

/** Whether an event is typed input. Ctrl-C does not count, since it must work at any time. */
export function isInput(event: Event): boolean {
  return event.kind === 'paste' || event.kind === 'mouse' || (event.kind === 'key' && event.key !== 'ctrl+c');
}

export const READ_ONLY = 'This dashboard is read-only.';

/** Duration of a message. */
const MESSAGE_MS = 6_000;

export function withMessage(model: Model, text: string, tone: Tone): Model {
  return { ...model, message: { text, tone, untilMs: model.nowMs + MESSAGE_MS } };
}

/** History that is kept by second and by minute. */
const REMEMBERED_S = 300;
const REMEMBERED_MINUTES_S = 86_400;

/** Merges fresh seconds into the known ones; a fresh one replaces its predecessor. */
export function withSeconds(known: readonly TrafficRow[], fresh: readonly TrafficRow[], nowMs: number): TrafficRow[] {
  return following(known, fresh, nowMs / 1000 - REMEMBERED_S);
}

/** Merges fresh minutes into the known ones. */
export function withMinutes(known: readonly TrafficRow[], fresh: readonly TrafficRow[], nowMs: number): TrafficRow[] {
  return following(known, fresh, nowMs / 1000 - REMEMBERED_MINUTES_S);
}

function following(known: readonly TrafficRow[], fresh: readonly TrafficRow[], oldestS: number): TrafficRow[] {
  const first = fresh[0]?.at_s ?? Number.POSITIVE_INFINITY;
  return [...known.filter(({ at_s: atS }) => atS < first), ...fresh].filter(({ at_s: atS }) => atS >= oldestS);
}

/**
 * Merges minutes from the journal. For each minute the row with more requests wins, which is usually the gateway's
 * own.
 */
export function withHistory(known: readonly TrafficRow[], history: readonly TrafficRow[], nowMs: number): TrafficRow[] {
  const rows = new Map(history.map((row) => [row.at_s, row]));
  for (const row of known) {
    // A gateway that started within this minute has counted only a part of it.
    if (row.requests >= (rows.get(row.at_s)?.requests ?? 0)) rows.set(row.at_s, row);
  }
  return withMinutes(
    [],
    [...rows.values()].toSorted((a, b) => a.at_s - b.at_s),
    nowMs,
  );
}

/** Merges fresh ended requests into the known ones. */
export function withEnded(known: readonly RequestRow[], fresh: readonly RequestRow[]): readonly RequestRow[] {
  const [first] = fresh;
  if (first === undefined) return known;
  const endedAtMs = (row: RequestRow) => row.ended_at_ms ?? 0;
  const before = known.filter((row) => endedAtMs(row) < endedAtMs(first));
  return [...before, ...fresh].slice(-MAX_ENDED);
}

/** Returns the cursor after a key press, among this many rows; undefined if the key does not move it. */
export function moveCursor(cursor: number, key: string, rows: number, page: number): number | undefined {
  const by: Readonly<Record<string, number>> = {
    up: -1,
    k: -1,
    down: 1,
    j: 1,
    pageup: -page,
    pagedown: page,
    'ctrl+u': -Math.ceil(page / 2),
    'ctrl+d': Math.ceil(page / 2),
    home: Number.NEGATIVE_INFINITY,
    g: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
    G: Number.POSITIVE_INFINITY,
  };
  const distance = by[key];
  return distance === undefined ? undefined : Math.max(0, Math.min(rows - 1, cursor + distance));
}
