/**
 * The load: clients that send planned requests one after another until the gateway is killed, and
 * record the answers.
 */
import type { Serving } from '../support/cli.ts';
import { fieldsOf, type KeyName, type Plan } from './plan.ts';

const CLIENTS = 16;
const STREAM_END = 'data: [DONE]\n\n';

/** A request as its client saw it. */
export interface Sent {
  readonly plan: Plan;
  /** On this process's monotonic clock. */
  readonly atMs: number;
  /** Known once the header of the answer has arrived. */
  readonly requestId: string | undefined;
  /** The complete answer; undefined if it was cut off or the client left. */
  readonly answer: { readonly status: number; readonly text: string } | undefined;
  /** What went wrong with the connection while the gateway ran. */
  readonly problem: string | undefined;
}

export class Load {
  readonly sent: Sent[] = [];
  /** Resolves when no client waits any more. */
  readonly ended: Promise<unknown>;
  #stopped = false;

  constructor(serving: Serving, keys: Readonly<Record<KeyName, { readonly key: string }>>, draw: () => Plan) {
    const client = async () => {
      while (!this.#stopped) this.sent.push(await this.#send(serving, keys, draw()));
    };
    this.ended = Promise.all(Array.from({ length: CLIENTS }, client));
  }

  /** After this, nothing new is sent and connections may break. */
  stop(): void {
    this.#stopped = true;
  }

  async #send(serving: Serving, keys: Readonly<Record<KeyName, { readonly key: string }>>, plan: Plan): Promise<Sent> {
    const atMs = performance.now();
    let requestId: string | undefined;
    try {
      const response = await serving.chat(keys[plan.key].key, fieldsOf(plan));
      requestId = response.headers.get('x-request-id') ?? undefined;
      const text = plan.kind === 'left' ? await leave(response) : await response.text();
      const isWhole = text !== undefined && (!isEventStream(response) || text.endsWith(STREAM_END));
      const problem = isWhole || plan.kind === 'left' || this.#stopped ? undefined : 'the stream has no end';
      return { plan, atMs, requestId, answer: isWhole ? { status: response.status, text } : undefined, problem };
    } catch (error) {
      const problem = this.#stopped ? undefined : String((error as Error).cause ?? error);
      return { plan, atMs, requestId, answer: undefined, problem };
    }
  }
}

async function leave(response: Response): Promise<undefined> {
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') === true;
}
