/** The open requests of earlier processes, whose commands come through ports that stand for them. */
import type { MessagePort } from 'node:worker_threads';
import type { PortHandover } from './handover.ts';
import { isAdmitted } from './protocol.ts';
import type { DecidedCommand } from './responder.ts';

export class InheritedRequests {
  readonly #byPort = new Map<MessagePort, Set<string>>();
  readonly #portOf = new Map<string, MessagePort>();
  readonly #closed = new Set<MessagePort>();

  add(port: MessagePort, requestIds: readonly string[]): void {
    this.#byPort.set(port, new Set(requestIds));
    for (const id of requestIds) this.#portOf.set(id, port);
  }

  /** To be called with every batch: what has been opened and ended. */
  follow(batch: readonly DecidedCommand[]): void {
    if (this.#byPort.size === 0) return;
    for (const { envelope, port, answer } of batch) {
      const { command } = envelope;
      if (isAdmitted(command, answer)) this.#open(port, command);
      else if (command.kind === 'settle') this.#end(command.settlement.requestId);
      else if (command.kind === 'charge_held') this.#end(command.requestId);
    }
  }

  /** A port has closed. What it has sent before is still to be decided. */
  close(port: MessagePort): void {
    if (this.#byPort.has(port)) this.#closed.add(port);
  }

  /** The ports that have closed, until their requests are taken. */
  get closed(): Iterable<MessagePort> {
    return this.#closed;
  }

  /** Takes what is open of closed ports. `isAwaited` says of one that commands from it are still to be decided. */
  takeOrphans(isAwaited: (port: MessagePort) => boolean): string[] {
    return [...this.#closed].flatMap((port) => {
      if (isAwaited(port)) return [];
      this.#closed.delete(port);
      const ids = [...(this.#byPort.get(port) ?? [])];
      this.#byPort.delete(port);
      return ids;
    });
  }

  /** The open requests of each port. */
  handOver(numberOf: (port: MessagePort) => number): PortHandover[] {
    return [...this.#byPort].map(([port, ids]) => ({ port: numberOf(port), requestIds: [...ids] }));
  }

  #open(port: MessagePort, command: DecidedCommand['envelope']['command']): void {
    const open = this.#byPort.get(port);
    if (open === undefined || command.kind !== 'admit') return;
    open.add(command.request.requestId);
    this.#portOf.set(command.request.requestId, port);
  }

  #end(requestId: string): void {
    const port = this.#portOf.get(requestId);
    if (port === undefined) return;
    this.#portOf.delete(requestId);
    this.#byPort.get(port)?.delete(requestId);
  }
}
