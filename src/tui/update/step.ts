/** Events and effects of the dashboard, and the parts of a step that several of them share. */
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
  /** `on`: what is drawn there. */
  | { readonly kind: 'mouse'; readonly action: MouseAction; readonly on: Click | undefined }
  | { readonly kind: 'resize'; readonly columns: number; readonly rows: number }
  | { readonly kind: 'tick'; readonly nowMs: number }
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot }
  /** `socketError` says why the control socket cannot be trusted, if that is the reason. */
  | { readonly kind: 'disconnected'; readonly socketError?: string }
  | { readonly kind: 'stored'; readonly stored: Stored }
  | { readonly kind: 'shared'; readonly shared: Shared | undefined }
  | { readonly kind: 'key_detail'; readonly detail: KeyDetail }
  | {
      readonly kind: 'users';
      readonly ownerId: string;
      /** Where the page begins. */
      readonly after: string;
      readonly users: readonly StoredUser[];
      readonly hasMore: boolean;
    }
  | { readonly kind: 'usage'; readonly rows: readonly ComparedUsage[] }
  /** Undefined if it could not be read. */
  | { readonly kind: 'plot'; readonly plot: PlottedCost | undefined }
  | RequestsRead
  /** Minutes from the journal. */
  | { readonly kind: 'history'; readonly rows: readonly TrafficRow[] }
  /** The journal rows that the audit has read, and all. */
  | { readonly kind: 'audit_progress'; readonly read: number; readonly of: number }
  | { readonly kind: 'audit_ended'; readonly title: string; readonly lines: readonly string[]; readonly tone: Tone }
  /** All entries, oldest first. */
  | { readonly kind: 'credit_history'; readonly entries: readonly CreditEntry[] }
  | Outcome
  /** What came of something that was done, which is remembered. */
  | {
      readonly kind: 'done';
      readonly action: AnyAction;
      /** The key, group or end user as it was before. */
      readonly before: Subject | undefined;
      readonly undoes: number | undefined;
      readonly atMs: number;
      readonly outcome: Outcome | KeyCreated;
    }
  /** What was asked for failed, for reasons that may need more than the line of messages. */
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
  /** Where the page begins; undefined for the first. */
  readonly after: JournalPlace | undefined;
  /** Undefined if it could not be read. */
  readonly page: FoundPage | undefined;
}

/** Asks for a page of the journal. */
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
  /** The pages of end users that are shown and not read yet. */
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

/** What is typed, except Ctrl-C, which must work at any time. */
export function isInput(event: Event): boolean {
  return event.kind === 'paste' || event.kind === 'mouse' || (event.kind === 'key' && event.key !== 'ctrl+c');
}

export const READ_ONLY = 'This dashboard is read-only.';

/** How long a message stays. */
const MESSAGE_MS = 6_000;

export function withMessage(model: Model, text: string, tone: Tone): Model {
  return { ...model, message: { text, tone, untilMs: model.nowMs + MESSAGE_MS } };
}

/** How much of the past is kept, by second and by minute. */
const REMEMBERED_S = 300;
const REMEMBERED_MINUTES_S = 86_400;

/** The known seconds, with fresh ones replacing or following them. */
export function withSeconds(known: readonly TrafficRow[], fresh: readonly TrafficRow[], nowMs: number): TrafficRow[] {
  return following(known, fresh, nowMs / 1000 - REMEMBERED_S);
}

/** The same for minutes. */
export function withMinutes(known: readonly TrafficRow[], fresh: readonly TrafficRow[], nowMs: number): TrafficRow[] {
  return following(known, fresh, nowMs / 1000 - REMEMBERED_MINUTES_S);
}

function following(known: readonly TrafficRow[], fresh: readonly TrafficRow[], oldestS: number): TrafficRow[] {
  const first = fresh[0]?.at_s ?? Number.POSITIVE_INFINITY;
  return [...known.filter(({ at_s: atS }) => atS < first), ...fresh].filter(({ at_s: atS }) => atS >= oldestS);
}

/** The known minutes, with those from the journal. The gateway knows more of its own minutes. */
export function withHistory(known: readonly TrafficRow[], history: readonly TrafficRow[], nowMs: number): TrafficRow[] {
  const rows = new Map(history.map((row) => [row.at_s, row]));
  for (const row of known) {
    // Unless it has started within one.
    if (row.requests >= (rows.get(row.at_s)?.requests ?? 0)) rows.set(row.at_s, row);
  }
  return withMinutes(
    [],
    [...rows.values()].toSorted((a, b) => a.at_s - b.at_s),
    nowMs,
  );
}

/** The known ended requests, with fresh ones replacing or following them. */
export function withEnded(known: readonly RequestRow[], fresh: readonly RequestRow[]): readonly RequestRow[] {
  const [first] = fresh;
  if (first === undefined) return known;
  const endedAtMs = (row: RequestRow) => row.ended_at_ms ?? 0;
  const before = known.filter((row) => endedAtMs(row) < endedAtMs(first));
  return [...before, ...fresh].slice(-MAX_ENDED);
}

/** The cursor after a key press, among this many rows; undefined if the key does not move it. */
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
