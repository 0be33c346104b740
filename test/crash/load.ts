/** The load: clients that send one planned request after another until the gateway is killed, and note what they got. */
import type { Serving } from '../support/cli.ts';
import { fieldsOf, type KeyName, type Plan } from './plan.ts';

const CLIENTS = 16;
const STREAM_END = 'data: [DONE]\n\n';

/** A request as its client knows it. */
export interface Sent {
  readonly plan: Plan;
  /** On this process's monotonic clock. */
  readonly atMs: number;
  /** Known as soon as the head of the answer came. */
  readonly requestId: string | undefined;
  /** The whole answer; undefined where it was cut, or its client left. */
  readonly answer: { readonly status: number; readonly text: string } | undefined;
  /** What went wrong with the connection while the gateway lived. */
  readonly fault: string | undefined;
}

export class Load {
  readonly sent: Sent[] = [];
  /** Resolves when no client waits for anything any more. */
  readonly ended: Promise<unknown>;
  #stopped = false;

  constructor(serving: Serving, secrets: Readonly<Record<KeyName, string>>, draw: () => Plan) {
    const client = async () => {
      while (!this.#stopped) this.sent.push(await this.#send(serving, secrets, draw()));
    };
    this.ended = Promise.all(Array.from({ length: CLIENTS }, client));
  }

  /** From here on nothing new is sent, and connections may break. */
  stop(): void {
    this.#stopped = true;
  }

  async #send(serving: Serving, secrets: Readonly<Record<KeyName, string>>, plan: Plan): Promise<Sent> {
    const atMs = performance.now();
    let requestId: string | undefined;
    try {
      const response = await serving.chat(secrets[plan.key], fieldsOf(plan));
      requestId = response.headers.get('x-request-id') ?? undefined;
      const text = plan.kind === 'left' ? await leave(response) : await response.text();
      const isWhole = text !== undefined && (!isEventStream(response) || text.endsWith(STREAM_END));
      const fault = isWhole || plan.kind === 'left' || this.#stopped ? undefined : 'the stream has no end';
      return { plan, atMs, requestId, answer: isWhole ? { status: response.status, text } : undefined, fault };
    } catch (error) {
      const fault = this.#stopped ? undefined : String((error as Error).cause ?? error);
      return { plan, atMs, requestId, answer: undefined, fault };
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
