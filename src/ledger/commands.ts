/** What travels between the gateway threads and the ledger thread. */
import type { MessagePort } from 'node:worker_threads';
import type {
  Admission,
  AdmissionRequest,
  CountedRefusal,
  Identity,
  LedgerSettings,
  LedgerSummary,
  LedgerView,
  ListingAdmission,
  RateFigures,
  Settlement,
} from './ledger.ts';
import type { PackedCommand, PackedReply } from './packing.ts';

export type Command =
  | { readonly kind: 'identify'; readonly keyHash: string }
  | { readonly kind: 'admit_listing'; readonly keyHash: string }
  | { readonly kind: 'admit'; readonly request: AdmissionRequest }
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  | { readonly kind: 'count_refusal'; readonly refusal: CountedRefusal }
  | { readonly kind: 'configure'; readonly settings: LedgerSettings }
  | { readonly kind: 'view'; readonly keyIds: readonly string[] };

/** Whether what a command decides is written to the file. */
export function isWritten({ kind }: Command): boolean {
  return kind === 'admit' || kind === 'settle';
}

/** What each kind of command is answered with. */
export interface Answers {
  identify: Identity;
  admit_listing: ListingAdmission;
  admit: Admission;
  settle: RateFigures;
  count_refusal: undefined;
  configure: undefined;
  view: LedgerView;
}

export type Answer = Answers[keyof Answers];

/** A command, and the number under which its answer goes back. */
export interface Envelope {
  readonly ticket: number;
  readonly command: Command;
}

export type Reply =
  | { readonly ticket: number; readonly answer: Answer }
  /** The ledger could not write; nothing was taken. */
  | { readonly ticket: number; readonly unavailable: string };

/** Messages to the ledger thread, from any thread. */
export type ToLedger =
  | { readonly kind: 'commands'; readonly commands: readonly PackedCommand[] }
  /** From the main thread: another thread will ask at this port. */
  | { readonly kind: 'connect'; readonly port: MessagePort }
  /** From the main thread. */
  | { readonly kind: 'close' };

/** Messages from the ledger thread. */
export type FromLedger =
  | { readonly kind: 'ready'; readonly summary: LedgerSummary }
  /** The file could not be opened; each line is for a person. */
  | { readonly kind: 'failed'; readonly lines: readonly string[] }
  | { readonly kind: 'replies'; readonly replies: readonly PackedReply[] }
  /** The file cannot be written now; the ledger goes on trying. */
  | { readonly kind: 'storage_fault'; readonly message: string }
  | { readonly kind: 'storage_recovered' }
  | { readonly kind: 'closed' };
