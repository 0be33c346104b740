/**
 * The calls of one thread to the ledger. To another thread, the commands of one turn of the event loop are sent as one
 * message.
 */
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
import type { Answer, Answers, Ask, Askable, Command, PackedCommand, Reply, Tellable, Told } from './protocol.ts';

/** The way to the ledger. */
interface LedgerPort {
  /** Whether it is in this thread. */
  readonly isLocal: boolean;
  tell(name: 'ask', ...asked: Ask): void;
}

export class LedgerClient implements LedgerControl {
  readonly #port: LedgerPort;
  readonly #tickets = new Tickets<Answer>();
  #outbox: PackedCommand[] = [];
  #commit = 0;
  #flushed = 0;
  /** Who waits for a flush, by the commit. */
  readonly #flushes = new Map<number, PromiseWithResolvers<void>>();
  #storageFault: string | undefined;
  #ended: LedgerUnavailable | undefined;

  constructor(port: LedgerPort) {
    this.#port = port;
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
      this.#port.tell('ask', 'flush', commit);
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

  /** To be called with all that the ledger tells. */
  receive(told: Told): void {
    if (told[0] === 'replies') this.#receiveReplies(told);
    else this.#storageFault = told[1];
  }

  /** No more replies will come: rejects all outstanding calls, and every later one. */
  end(reason: string): void {
    this.#ended ??= new LedgerUnavailable(reason);
    this.#tickets.rejectAll(this.#ended);
    for (const { reject } of this.#flushes.values()) reject(this.#ended);
    this.#flushes.clear();
  }

  /** Sends the commands of this turn of the event loop. */
  flush(): void {
    const commands = this.#outbox;
    this.#outbox = [];
    if (commands.length > 0) this.#port.tell('ask', 'commands', commands);
  }

  /** Nothing waits for the answer, and a ledger that cannot answer reports that elsewhere. */
  #tell(command: Command): void {
    this.#ask(command).catch(() => {});
  }

  #ask<K extends keyof Answers>(command: Extract<Command, { kind: K }>): Promise<Answers[K]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const { ticket, reply } = this.#tickets.take();
    const packed = packCommand({ ticket, command }, this.#port.isLocal);
    if (this.#port.isLocal) this.#port.tell('ask', 'commands', [packed]);
    else this.#sendWithOthers(packed);
    // The ledger answers each command with the answer of its kind.
    return reply as Promise<Answers[K]>;
  }

  /** The commands of one turn are sent together: a message costs as much as 20 commands. */
  #sendWithOthers(packed: PackedCommand): void {
    if (this.#outbox.length === 0) setImmediate(() => this.flush());
    this.#outbox.push(packed);
  }

  #receiveReplies([, replies, commit, flushed]: Extract<Told, ['replies', ...unknown[]]>): void {
    this.#commit = commit;
    this.#flushed = flushed;
    for (const [waitedFor, { resolve }] of this.#flushes) {
      if (waitedFor > flushed) continue;
      this.#flushes.delete(waitedFor);
      resolve();
    }
    for (const reply of replies) this.#deliver(unpackReply(reply));
  }

  #deliver(reply: Reply): void {
    if ('answer' in reply) this.#tickets.resolve(reply.ticket, reply.answer);
    else this.#tickets.reject(reply.ticket, new LedgerUnavailable(reply.unavailable));
  }
}

/** Connects a thread to the ledger that another one has started. */
export function connectLedger(channel: MessagePort): Ledger {
  const port = new Port<Tellable, Askable>(channel, 'the ledger');
  const client = new LedgerClient(port);
  port.serve({ told: (...told) => client.receive(told) });
  channel.on('close', () => client.end('the ledger is closed'));
  return client;
}
