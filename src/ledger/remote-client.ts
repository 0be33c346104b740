/** Represents a client in another thread: packs the answers of a batch into one message. */
import type { MessagePort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { packReply } from './packing.ts';
import type { Answer, Ask, Askable, ClientPort, Command, PackedReply, Tellable, Told } from './protocol.ts';

export class RemoteClient implements ClientPort {
  readonly #port: Pick<Port<never, Tellable>, 'tell'>;
  #replies: PackedReply[] = [];

  constructor(port: Pick<Port<never, Tellable>, 'tell'>) {
    this.#port = port;
  }

  /** Returns the client at the other end of a channel. `onAsk` receives its messages. */
  static at(channel: MessagePort, onAsk: (asked: Ask) => void): RemoteClient {
    const port = new Port<Askable, Tellable>(channel, 'a thread');
    port.serve({ ask: (...asked) => onAsk(asked) });
    return new RemoteClient(port);
  }

  answer(ticket: number, command: Command, answer: Answer): void {
    this.#replies.push(packReply(ticket, command, answer));
  }

  deliver(commit: number, flushed: number): void {
    const replies = this.#replies;
    this.#replies = [];
    this.tell('replies', replies, commit, flushed);
  }

  tell(...told: Told): void {
    this.#port.tell('told', ...told);
  }
}
