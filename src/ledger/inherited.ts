/** Tracks the open requests of earlier processes, whose commands arrive through forwarding ports. */
import type { PortHandover } from './handover.ts';
import { type ClientPort, type Command, type DecidedCommand, isAdmitted, isCountBegun } from './protocol.ts';

export class InheritedRequests {
  readonly #byPort = new Map<ClientPort, Set<string>>();
  readonly #portOf = new Map<string, ClientPort>();
  readonly #closed = new Set<ClientPort>();
  /** The token counts among the requests. A handover omits them. */
  readonly #counts = new Set<string>();

  add(port: ClientPort, requestIds: readonly string[]): void {
    this.#byPort.set(port, new Set(requestIds));
    for (const id of requestIds) this.#portOf.set(id, port);
  }

  /** Tracks the requests opened and ended by a batch. Must be called with every batch. */
  follow(batch: readonly DecidedCommand[]): void {
    if (this.#byPort.size === 0) return;
    for (const { command, port, answer } of batch) {
      if (command.kind === 'admit' && isAdmitted(command, answer)) this.#open(port, command.request.requestId);
      else if (isCountBegun(command, answer)) this.#openCount(port, command.countId);
      else if (command.kind === 'settle') this.#end(command.settlement.requestId);
      else if (command.kind === 'end_count') this.#end(command.countId);
      else if (command.kind === 'charge_held') this.#end(command.requestId);
    }
  }

  /** Marks a port as closed. Commands sent before may still wait for a decision. */
  close(port: ClientPort): void {
    if (this.#byPort.has(port)) this.#closed.add(port);
  }

  /** The closed ports whose requests are not taken yet. */
  get closed(): Iterable<ClientPort> {
    return this.#closed;
  }

  /**
   * Removes the open requests of closed ports and returns the commands that end them. `isAwaited`: whether commands
   * from a port are still undecided.
   */
  takeOrphans(isAwaited: (port: ClientPort) => boolean): Command[] {
    const ids = [...this.#closed].flatMap((port) => {
      if (isAwaited(port)) return [];
      this.#closed.delete(port);
      const ids = [...(this.#byPort.get(port) ?? [])];
      this.#byPort.delete(port);
      return ids;
    });
    return ids.map((id) =>
      this.#counts.delete(id) ? { kind: 'end_count', countId: id } : { kind: 'charge_held', requestId: id },
    );
  }

  /** Returns the open requests of each port. */
  handOver(numberOf: (port: ClientPort) => number): PortHandover[] {
    return [...this.#byPort].map(([port, ids]) => ({
      port: numberOf(port),
      requestIds: [...ids].filter((id) => !this.#counts.has(id)),
    }));
  }

  #open(port: ClientPort, id: string): boolean {
    const open = this.#byPort.get(port);
    if (open === undefined) return false;
    open.add(id);
    this.#portOf.set(id, port);
    return true;
  }

  #openCount(port: ClientPort, countId: string): void {
    if (this.#open(port, countId)) this.#counts.add(countId);
  }

  #end(id: string): void {
    const port = this.#portOf.get(id);
    if (port === undefined) return;
    this.#portOf.delete(id);
    this.#counts.delete(id);
    this.#byPort.get(port)?.delete(id);
  }
}
