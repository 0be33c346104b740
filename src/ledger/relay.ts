/**
 * After a handover: what the threads of this process ask goes to the ledger of the next one, through
 * the main thread, and what that tells them comes back.
 */
import type { MessagePort } from 'node:worker_threads';
import { packCommand } from './packing.ts';
import type { Ask, FromLedger, Told } from './protocol.ts';
import type { QueuedCommand } from './responder.ts';

export class Relay {
  readonly #main: MessagePort;
  /** The ports by which the next process knows them. */
  readonly #numbers = new WeakMap<MessagePort, number>();
  readonly #ports = new Map<number, MessagePort>();
  #count = 0;
  #isOpen = false;

  constructor(main: MessagePort) {
    this.#main = main;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  add(port: MessagePort): void {
    this.#numbers.set(port, this.#count);
    this.#ports.set(this.#count, port);
    this.#count++;
  }

  /** Its number stays until the process ends. */
  numberOf(port: MessagePort): number {
    return this.#numbers.get(port) as number;
  }

  /** Begins, with the commands that nobody has decided. */
  open(undecided: readonly QueuedCommand[]): void {
    this.#isOpen = true;
    for (const { envelope, port } of undecided) this.ask(port, { kind: 'commands', commands: [packCommand(envelope)] });
  }

  ask(port: MessagePort, asked: Ask): void {
    this.#send(port, asked);
  }

  tell(number: number, told: Told): void {
    this.#ports.get(number)?.postMessage(told);
  }

  /** A port has closed. */
  end(port: MessagePort): void {
    this.#ports.delete(this.numberOf(port));
    if (this.#isOpen) this.#send(port, undefined);
  }

  #send(port: MessagePort, asked: Ask | undefined): void {
    this.#main.postMessage({ kind: 'relayed', port: this.numberOf(port), asked } satisfies FromLedger);
  }
}
