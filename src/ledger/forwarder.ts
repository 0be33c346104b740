/**
 * After a handover: what the threads of this process ask goes to the ledger of the next one, through
 * the main thread, and what that tells them comes back.
 */
import { packCommand } from './packing.ts';
import type { Ask, ClientPort, MainCalls, QueuedCommand, Told } from './protocol.ts';

export class Forwarder {
  readonly #main: Pick<MainCalls, 'forwarded'>;
  /** The ports by which the next process knows them. */
  readonly #numbers = new WeakMap<ClientPort, number>();
  readonly #ports = new Map<number, ClientPort>();
  #count = 0;
  #isOpen = false;

  constructor(main: Pick<MainCalls, 'forwarded'>) {
    this.#main = main;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  add(port: ClientPort): void {
    this.#numbers.set(port, this.#count);
    this.#ports.set(this.#count, port);
    this.#count++;
  }

  /** Its number stays until the process ends. */
  numberOf(port: ClientPort): number {
    return this.#numbers.get(port) as number;
  }

  /** Begins, with the commands that nobody has decided. */
  open(undecided: readonly QueuedCommand[]): void {
    this.#isOpen = true;
    for (const queued of undecided) this.take(queued);
  }

  take({ ticket, command, port }: QueuedCommand): void {
    this.ask(port, ['commands', [packCommand(ticket, command)]]);
  }

  ask(port: ClientPort, asked: Ask): void {
    this.#send(port, asked);
  }

  tell(number: number, told: Told): void {
    this.#ports.get(number)?.tell(...told);
  }

  /** A port has closed. */
  end(port: ClientPort): void {
    this.#ports.delete(this.numberOf(port));
    if (this.#isOpen) this.#send(port, undefined);
  }

  #send(port: ClientPort, asked: Ask | undefined): void {
    this.#main.forwarded(this.numberOf(port), asked);
  }
}
