/**
 * Calls between two threads or processes: each side of a port serves functions to the other. The result or error of the function
 * is the outcome of the call. A function without a result is an event, which gets no reply.
 */
import { MessagePort } from 'node:worker_threads';
import type { Asked, Channel, Message, Returned, Thrown } from './channel.ts';
import { UserError } from './errors.ts';
import { Tickets } from './tickets.ts';

type Functions = Readonly<Record<string, (...given: unknown[]) => unknown>>;
type Call = (...given: never[]) => Promise<unknown>;
type CallOf<Served> = { [Name in keyof Served]: Served[Name] extends Call ? Name : never }[keyof Served] & string;
type EventOf<Served> = Exclude<keyof Served, CallOf<Served>> & string;
type Given<Of> = Of extends (...given: infer All) => unknown ? All : never;
type Result<Of> = Of extends (...given: never[]) => Promise<infer Value> ? Value : never;

/** `Own` are the functions of this side, `Other` the functions of the other side. Calls return a promise, events return void. */
export class Port<Own extends object, Other extends object> {
  readonly #channel: Channel;
  readonly #tickets = new Tickets<unknown>();
  #served: Functions | undefined;
  #beforeReply = () => {};
  #ended: Error | undefined;

  /** `other` is the name of the other side in the error of calls that lose their connection. */
  constructor(channel: Channel, other: string) {
    this.#channel = channel;
    const end = () => this.end(new Error(`${other} has ended`));
    channel.on('error', (error) => this.end(error));
    channel.on('exit', end);
    channel.on('close', end);
  }

  /**
   * Serves these functions in place of earlier ones. The channel buffers messages until the first call of this method.
   * `beforeReply` is called before each reply.
   */
  serve(served: Partial<Own>, beforeReply = () => {}): this {
    const isFirst = this.#served === undefined;
    this.#served = served as Functions;
    this.#beforeReply = beforeReply;
    if (isFirst) this.#channel.on('message', (message) => this.#receive(message));
    return this;
  }

  /** Rejects with the error of the function, or if the other side ends before it replies. */
  call<Name extends CallOf<Other>>(name: Name, ...given: Given<Other[Name]>): Promise<Result<Other[Name]>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const { ticket, reply } = this.#tickets.take();
    try {
      this.#send([name, ticket, ...given]);
    } catch (error) {
      this.#tickets.reject(ticket, error as Error);
    }
    // The reply has the type of the function's result.
    return reply as Promise<Result<Other[Name]>>;
  }

  tell<Name extends EventOf<Other>>(name: Name, ...given: Given<Other[Name]>): void {
    this.#send([name, 0, ...given]);
  }

  /** Rejects all open calls and every later one. */
  end(error: Error): void {
    this.#ended ??= error;
    this.#tickets.rejectAll(this.#ended);
  }

  #receive(message: Message): void {
    if (typeof message[0] === 'number') return this.#settle(message as Returned | Thrown);
    const [name, ticket] = message as Asked;
    const given = message.slice(2);
    if (ticket === 0) this.#run(name, given);
    else void this.#answer(name, ticket, given);
  }

  async #answer(name: string, ticket: number, given: unknown[]): Promise<void> {
    try {
      const result = await this.#run(name, given);
      this.#beforeReply();
      this.#send([ticket, result]);
    } catch (error) {
      this.#beforeReply();
      this.#sendError(ticket, error);
    }
  }

  #sendError(ticket: number, error: unknown): void {
    try {
      this.#send([ticket, undefined, error, error instanceof UserError ? error.lines : undefined]);
    } catch {
      // Properties of the error, such as its cause, can be uncloneable.
      this.#send([ticket, undefined, new Error(String(error)), undefined]);
    }
  }

  #run(name: string, given: unknown[]): unknown {
    const served = this.#served?.[name];
    if (served === undefined || name in Object.prototype) throw new Error(`nothing is served as ${name}`);
    return served.apply(this.#served, given);
  }

  #settle([ticket, result, ...thrown]: Returned | Thrown): void {
    const [error, lines] = thrown;
    if (thrown.length === 0) this.#tickets.resolve(ticket, result);
    else this.#tickets.reject(ticket, lines === undefined ? (error as Error) : new UserError(lines));
  }

  /** Message ports cannot be cloned and must be in the transfer list. */
  #send(message: Message): void {
    const moved = message.filter((part) => part instanceof MessagePort);
    if (moved.length === 0) this.#channel.postMessage(message);
    else this.#channel.postMessage(message, moved);
  }
}
