/** A thread's calls to the ledger: direct calls if the ledger runs in the same thread, messages otherwise. */
import type { MessagePort } from 'node:worker_threads';
import type { RateFigures } from '../core/limits.ts';
import { Port } from '../core/port.ts';
import type { CountedRefusal, Settlement } from '../core/settlement.ts';
import { Tickets } from '../core/tickets.ts';
import type { RequestWindow } from './figures.ts';
import {
  type Admission,
  type AdmissionForecast,
  type AdmissionQuestion,
  type AdmissionRequest,
  type Grant,
  type Growth,
  type Identity,
  type Ledger,
  type LedgerControl,
  type LedgerSettings,
  type LedgerSnapshot,
  LedgerUnavailable,
  type ListingAdmission,
} from './ledger.ts';
import { packCommand, unpackReply } from './packing.ts';
import {
  type Answer,
  type Answers,
  type Ask,
  type Askable,
  type ClientPort,
  type Command,
  type CommandPort,
  isUnavailable,
  type PackedCommand,
  type Tellable,
  type Told,
} from './protocol.ts';

export class LedgerClient implements LedgerControl, ClientPort {
  readonly #ledger: CommandPort;
  readonly #onTold: (told: Told) => void;
  readonly #tickets = new Tickets<Answer>();
  #commit = 0;
  #flushed = 0;
  /** Pending flush promises by commit number. */
  readonly #flushes = new Map<number, PromiseWithResolvers<void>>();
  #storageFault: string | undefined;
  #ended: LedgerUnavailable | undefined;

  /** `onTold` receives every message from the ledger except replies. */
  constructor(ledger: CommandPort, onTold: (told: Told) => void = () => {}) {
    this.#ledger = ledger;
    this.#onTold = onTold;
  }

  get storageFault(): string | undefined {
    return this.#storageFault;
  }

  identify(keyHash: string, window?: RequestWindow): Promise<Identity> {
    return this.#ask({ kind: 'identify', keyHash, window });
  }

  admitListing(keyHash: string, countId?: string): Promise<ListingAdmission> {
    return this.#ask({ kind: 'admit_listing', keyHash, countId });
  }

  async endCount(countId: string): Promise<void> {
    await this.#ask({ kind: 'end_count', countId });
  }

  forecast(question: AdmissionQuestion): Promise<AdmissionForecast> {
    return this.#ask({ kind: 'forecast', question });
  }

  admit(request: AdmissionRequest): Promise<Admission> {
    return this.#ask({ kind: 'admit', request });
  }

  get commit(): number {
    return this.#commit;
  }

  flushed(commit: number): Promise<void> | undefined {
    if (commit <= this.#flushed) return undefined;
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    let waiting = this.#flushes.get(commit);
    if (waiting === undefined) {
      waiting = Promise.withResolvers<void>();
      this.#flushes.set(commit, waiting);
      this.#ledger.flushFor(this, commit);
    }
    return waiting.promise;
  }

  settle(settlement: Settlement): Promise<RateFigures> {
    return this.#ask({ kind: 'settle', settlement });
  }

  grow(growth: Growth): Promise<Grant> {
    return this.#ask({ kind: 'grow', growth });
  }

  freeSlot(requestId: string): void {
    this.#tell({ kind: 'free_slot', requestId });
  }

  countRefusal(refusal: CountedRefusal): void {
    this.#tell({ kind: 'count_refusal', refusal });
  }

  async configure(settings: LedgerSettings): Promise<void> {
    await this.#ask({ kind: 'configure', settings });
  }

  snapshot(keyIds: readonly string[]): Promise<LedgerSnapshot> {
    return this.#ask({ kind: 'snapshot', keyIds });
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Rejects all pending calls and every later one: the ledger sends no more replies. */
  end(reason: string): void {
    this.#ended ??= new LedgerUnavailable(reason);
    this.#tickets.rejectAll(this.#ended);
    for (const { reject } of this.#flushes.values()) reject(this.#ended);
    this.#flushes.clear();
  }

  answer(ticket: number, _: Command | undefined, answer: Answer): void {
    if (isUnavailable(answer)) this.#tickets.reject(ticket, new LedgerUnavailable(answer.unavailable));
    else this.#tickets.resolve(ticket, answer);
  }

  deliver(commit: number, flushed: number): void {
    this.#commit = commit;
    this.#flushed = flushed;
    for (const [waitedFor, { resolve }] of this.#flushes) {
      if (waitedFor > flushed) continue;
      this.#flushes.delete(waitedFor);
      resolve();
    }
  }

  tell(...told: Told): void {
    if (told[0] === 'replies') {
      const [, replies, commit, flushed] = told;
      for (const reply of replies) this.answer(reply[0], undefined, unpackReply(reply));
      this.deliver(commit, flushed);
    } else {
      this.#storageFault = told[1];
      this.#onTold(told);
    }
  }

  /** Sends a command without waiting for its answer. The ledger reports failures through its storage fault. */
  #tell(command: Command): void {
    this.#ask(command).catch(() => {});
  }

  #ask<K extends keyof Answers>(command: Extract<Command, { kind: K }>): Promise<Answers[K]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const { ticket, reply } = this.#tickets.take();
    this.#ledger.take(ticket, command, this);
    // The ledger answers each command with the answer of its kind.
    return reply as Promise<Answers[K]>;
  }
}

/**
 * Sends commands to the ledger in another thread. The commands of one turn of the event loop share a message, because a
 * message costs as much as 20 commands.
 */
export class RemoteLedger implements CommandPort {
  readonly #port: { tell(name: 'ask', ...asked: Ask): void };
  #outbox: PackedCommand[] = [];

  constructor(port: { tell(name: 'ask', ...asked: Ask): void }) {
    this.#port = port;
  }

  take(ticket: number, command: Command): void {
    if (this.#outbox.length === 0) setImmediate(() => this.send());
    this.#outbox.push(packCommand(ticket, command));
  }

  flushFor(_: ClientPort, commit: number): void {
    this.#port.tell('ask', 'flush', commit);
  }

  send(): void {
    const commands = this.#outbox;
    this.#outbox = [];
    if (commands.length > 0) this.#port.tell('ask', 'commands', commands);
  }
}

/** Connects this thread to a ledger started by another one. */
export function connectLedger(channel: MessagePort): Ledger {
  const port = new Port<Tellable, Askable>(channel, 'the ledger');
  const client = new LedgerClient(new RemoteLedger(port));
  port.serve({ told: (...told) => client.tell(...told) });
  channel.on('close', () => client.end('the ledger is closed'));
  return client;
}
