/** What hosts that bill truthfully share: they know what was announced, and hold answers back where they are told to. */
import type { FakeUpstream, UpstreamCall } from '../support/fake-upstream.ts';
import type { Conversation } from './conversation.ts';

/** Turns of the event loop after which the gateway has noticed that a client left. */
const TURNS = 12;

export abstract class BillingHost<Announced extends Conversation> {
  readonly upstream: FakeUpstream;
  readonly #announced = new Map<string, Announced>();
  readonly #gates = new Set<Promise<void>>();
  /** Requests that nobody has announced. */
  strangers = 0;
  /** Called with each request that arrives, before anything is written. */
  onArrival: (conversation: Conversation) => void = () => {};

  protected constructor(upstream: FakeUpstream) {
    this.upstream = upstream;
    this.serve();
  }

  /** Answers truthfully from here on. */
  serve(): void {
    this.upstream.follow((call) => {
      // The fake upstream would keep every call until the end of the test.
      this.upstream.calls.length = 0;
      return this.answer(call);
    });
  }

  /** Announces a request, which carries this id as its user. */
  expect(announced: Announced): Announced {
    this.#announced.set(announced.id, announced);
    return announced;
  }

  forget({ id }: Conversation): void {
    this.#announced.delete(id);
  }

  /** Holds back further answers until the returned function is called. */
  holdAnswers(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gates.add(promise);
    return () => {
      this.#gates.delete(promise);
      resolve();
    };
  }

  protected abstract answer(call: UpstreamCall): Promise<void>;

  /** What was announced by this id. Without, the call is refused. */
  protected announced(call: UpstreamCall, user: unknown): Announced | undefined {
    const found = this.#announced.get(String(user));
    if (found === undefined) {
      this.strangers++;
      call.answer(400, { error: { message: 'nobody sent this' } });
    }
    return found;
  }

  /** Resolves once no answer is held back that was when this was asked. */
  protected released(): Promise<unknown> {
    return Promise.all(this.#gates);
  }
}

export async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
}

/** `closed` rejects after a minute, which a kept-alive connection outlives. */
export function closedOf(call: UpstreamCall): Promise<void> {
  return call.closed.catch(() => {});
}
