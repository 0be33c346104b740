/**
 * Forwards the commands of this process's threads to the ledger of the next process after a handover, through the main
 * thread, and passes the replies back.
 */
import { packCommand } from './packing.ts';
import type { Ask, ClientPort, MainCalls, QueuedCommand, Told } from './protocol.ts';

export class Forwarder {
  readonly #main: Pick<MainCalls, 'forwarded'>;
  /** The port numbers known to the next process. */
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

  /** A port keeps its number until the process ends. */
  numberOf(port: ClientPort): number {
    return this.#numbers.get(port) as number;
  }

  /** Starts forwarding, beginning with the undecided commands. */
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

  /** Removes a closed port. */
  end(port: ClientPort): void {
    this.#ports.delete(this.numberOf(port));
    if (this.#isOpen) this.#send(port, undefined);
  }

  #send(port: ClientPort, asked: Ask | undefined): void {
    this.#main.forwarded(this.numberOf(port), asked);
  }
}
