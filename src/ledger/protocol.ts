/** The protocol of the ledger: commands, replies, and how they are packed into messages. */

import type { MessagePort } from 'node:worker_threads';
import type { Value } from '../core/layout.ts';
import type { RateFigures } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { CountedRefusal, Settlement } from '../core/settlement.ts';
import type { RequestWindow } from './figures.ts';
import type { Handover } from './handover.ts';
import type {
  Admission,
  AdmissionForecast,
  AdmissionQuestion,
  AdmissionRequest,
  Grant,
  Growth,
  Identity,
  LedgerSettings,
  LedgerSnapshot,
  LedgerSummary,
  ListingAdmission,
} from './ledger.ts';

export type Command =
  | { readonly kind: 'identify'; readonly keyHash: string; readonly window?: RequestWindow | undefined }
  /** With an id: for a count of tokens, which takes a slot. */
  | { readonly kind: 'admit_listing'; readonly keyHash: string; readonly countId?: string | undefined }
  | { readonly kind: 'end_count'; readonly countId: string }
  | { readonly kind: 'forecast'; readonly question: AdmissionQuestion }
  | { readonly kind: 'admit'; readonly request: AdmissionRequest }
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  | { readonly kind: 'grow'; readonly growth: Growth }
  | { readonly kind: 'free_slot'; readonly requestId: string }
  /** The process of an open request has ended before it. */
  | { readonly kind: 'charge_held'; readonly requestId: string }
  | { readonly kind: 'count_refusal'; readonly refusal: CountedRefusal }
  | { readonly kind: 'configure'; readonly settings: LedgerSettings }
  | { readonly kind: 'snapshot'; readonly keyIds: readonly string[] };

/** The number of busiest keys in a snapshot. */
export const BUSIEST_KEYS = 20;

/** Whether the decision on a command is written to the store. */
export function isWritten({ kind }: Command): boolean {
  return kind === 'admit' || kind === 'settle' || kind === 'grow' || kind === 'charge_held';
}

/** Whether a request was admitted. */
export function isAdmitted({ kind }: Command, answer: Answer): boolean {
  return kind === 'admit' && (answer as Admission).admitted;
}

/** Whether a count of tokens has taken its slot. */
export function isCountBegun(
  command: Command,
  answer: Answer,
): command is Extract<Command, { kind: 'admit_listing' }> & { readonly countId: string } {
  if (command.kind !== 'admit_listing' || command.countId === undefined) return false;
  return (answer as ListingAdmission).kind === 'admitted';
}

/** Whether a command waits while the store cannot be written. All others fail. */
export function waitsForStore({ kind }: Command): boolean {
  return ['settle', 'grow', 'free_slot', 'end_count', 'charge_held'].includes(kind);
}

/** The answer to each kind of command. */
export interface Answers {
  identify: Identity;
  admit_listing: ListingAdmission;
  end_count: undefined;
  forecast: AdmissionForecast;
  admit: Admission;
  settle: RateFigures;
  grow: Grant;
  free_slot: undefined;
  charge_held: undefined;
  count_refusal: undefined;
  configure: undefined;
  snapshot: LedgerSnapshot;
}

/** The ledger could not decide a command, or could not write the decision; nothing has changed. */
export interface Unavailable {
  /** The cause, and the remedy. */
  readonly unavailable: string;
}

export type Answer = Answers[keyof Answers] | Unavailable;

export function isUnavailable(answer: Answer): answer is Unavailable {
  return answer !== undefined && 'unavailable' in answer;
}

/** A command on its way through the ledger. */
export interface QueuedCommand {
  /** Identifies the command among those of its client. */
  readonly ticket: number;
  readonly command: Command;
  readonly port: ClientPort;
}

/** A command and the decision on it. */
export interface DecidedCommand extends QueuedCommand {
  readonly answer: Answer;
}

// What every request needs is sent as flat arrays: cloning one takes a quarter of the time of an
// object (0.4 instead of 1.8 µs for a settlement, Node 26).

/** What any thread asks of the ledger. */
export type Ask =
  | [kind: 'commands', commands: readonly PackedCommand[]]
  /** Somebody waits for a flush of this commit. */
  | [kind: 'flush', commit: number];

/** What the ledger tells the threads that ask. */
export type Told =
  /** `commit` is the last one that a request was admitted in and answered, `flushed` the last that is flushed. */
  | [kind: 'replies', replies: readonly PackedReply[], commit: number, flushed: number]
  /** The file cannot be written; the ledger keeps trying. */
  | [kind: 'storage_fault', message: string]
  | [kind: 'storage_recovered'];

/** What the ledger serves to each thread that sends commands. */
export interface Askable {
  ask(...asked: Ask): void;
}

/** What such a thread serves to the ledger. */
export interface Tellable {
  told(...told: Told): void;
}

/** What the ledger serves to the main thread. */
export interface LedgerCalls extends Askable {
  /** Resolves when all is loaded that it takes to open the state. */
  load(): Promise<void>;
  /** Opens the state, and goes on where an earlier process has stopped. Rejects with a UserError if it cannot be used. */
  open(handover: Handover | undefined): Promise<LedgerSummary>;
  /**
   * Another thread will send commands through this port. If it stands for an earlier process, these
   * requests are its own, and what is open when the port closes is charged as held.
   */
  connect(port: MessagePort, inherited?: readonly string[]): void;
  /** Stops deciding. Rejects with a UserError, and decides on, if it cannot. */
  handOver(): Promise<Handover>;
  /** Decides again: nobody has taken over. */
  keep(): void;
  /** The next process decides from now on: what is asked goes to it, as `forwarded`. */
  forward(): void;
  /** What the next process tells the thread at this port. */
  tell(port: number, told: Told): void;
  /** Resolves when all is decided that was asked before, and the state is closed. */
  close(): Promise<void>;
}

/** What the main thread serves to the ledger. */
export interface MainCalls extends Tellable {
  /** Operators stop these requests. */
  stops(requestIds: readonly string[]): void;
  /** Other gateways are dead, and this many requests of theirs charged as held. */
  deaths(names: readonly string[], requests: number): void;
  /** This gateway has come to another state than the others. */
  difference(entry: bigint): void;
  nonsense(entry: bigint, nodeId: number): void;
  /** The database has lost an entry, and so many requests that had ended are charged as held. */
  lostLog(entry: bigint, requests: number): void;
  /** The key of a request that has ended is gone. */
  uncharged(requestId: string): void;
  /** The process that a closed port stood for has left this many requests open. */
  orphans(requests: number): void;
  /** For the next process: what the thread at this port asks, or that it has ended. */
  forwarded(port: number, asked: Ask | undefined): void;
}

/** A client that sends commands, as the ledger sees it: the client itself if it is in the ledger's thread. */
export interface ClientPort {
  /** Answers a command. The answer arrives with the next `deliver`, or before it. */
  answer(ticket: number, command: Command, answer: Answer): void;
  /** Delivers the answers. `commit`: the last one in which an answered request was admitted; `flushed`: the last flushed one. */
  deliver(commit: number, flushed: number): void;
  tell(...told: Told): void;
}

/** The ledger, as a client sees it. */
export interface CommandPort {
  /** Takes a command. The client gets its answer by `ticket`. */
  take(ticket: number, command: Command, client: ClientPort): void;
  /** Has a commit flushed, and notifies the client. */
  flushFor(client: ClientPort, commit: number): void;
}

export type PackedCommand =
  | readonly [ticket: number, kind: 'admit' | 'settle' | 'grow', values: readonly Value[]]
  | readonly [ticket: number, kind: 'other', command: Command];

export type PackedReply =
  /** To an admission without fallbacks and groups, and to a settlement: the figures. */
  | readonly [ticket: number, kind: 'admitted' | 'settled', values: readonly Value[]]
  | readonly [ticket: number, kind: 'granted', nanos: readonly [hold: Nanos, left: Nanos | undefined]]
  | readonly [ticket: number, kind: 'other', answer: Answer]
  | readonly [ticket: number, kind: 'unavailable', why: string];
