/**
 * Hosts that write as fast as their clients read: a piece when the one before has arrived, and no more than that once
 * they are stopped.
 */
import { chunk, DONE } from './answers.ts';
import type { Script } from './fake-upstream.ts';
import type { TestGateway, TestKey } from './gateway.ts';

/** What a client has read so far. */
class Reading {
  text = '';
  #isOver = false;
  #waiting: (() => void)[] = [];

  /** Reads a whole answer. */
  async readAll(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      this.text += decoder.decode(bytes, { stream: true });
      this.#wake();
    }
    this.#isOver = true;
    this.#wake();
  }

  /** Resolves once there is this text, or no more to come. */
  async has(text: string): Promise<void> {
    while (!this.text.includes(text) && !this.#isOver) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

export interface Followed {
  readonly status: number;
  readonly text: string;
  /** How many pieces the host has written. */
  readonly written: number;
}

export class Followers {
  readonly #readings = new Map<string, Reading>();
  readonly #written = new Map<string, number>();
  #requests = 0;

  /** Writes so many pieces, and ends. */
  writing(pieces: number, text: string): Script {
    return async (call) => {
      const { user } = JSON.parse(call.body);
      const closed = call.closed.then(() => true);
      call.stream();
      for (let piece = 0; piece < pieces; piece++) {
        call.send(chunk(text, null, { id: `piece-${piece}` }));
        this.#written.set(user, piece + 1);
        const isRead = this.#readings
          .get(user)
          ?.has(`"piece-${piece}"`)
          .then(() => false);
        if (await Promise.race([isRead, closed])) return;
      }
      call.send(chunk('', 'stop') + DONE);
      call.end();
    };
  }

  /** Sends a chat completion with these fields, and reads its answer. */
  async send(gateway: TestGateway, key: TestKey, fields: Record<string, unknown>): Promise<Followed> {
    const user = `reader-${++this.#requests}`;
    const reading = new Reading();
    this.#readings.set(user, reading);
    const messages = [{ role: 'user', content: 'Hello!' }];
    const body = JSON.stringify({ model: 'fake/echo', messages, stream: true, ...fields, user });
    const response = await gateway.open('/v1/chat/completions', { method: 'POST', key, body });
    await reading.readAll(response);
    return { status: response.status, text: reading.text, written: this.#written.get(user) ?? 0 };
  }
}
