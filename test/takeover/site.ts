/** Gateways that take over from one another on the same state, with a host behind them. */
import Database from 'better-sqlite3';
import { chunk, DONE, USAGE, usageChunk } from '../support/answers.ts';
import { type NewKeyJson, PROGRAM, type Serving, Workplace } from '../support/cli.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import type { Scope } from '../support/run-scope.ts';

/** A request of {@link PAID} costs a thousandth of a dollar for each of its two words. */
export const PAID = 'mock/paid';
export const PAID_COST_USD = 0.002;

/** A row of the journal. */
export interface Row {
  readonly request_id: string;
  readonly key_id: string;
  readonly outcome: string;
  readonly source: string;
}

export class Site {
  readonly place: Workplace;
  readonly #upstream: FakeUpstream;
  /** Streams that have begun and wait for `finishStreams`. */
  readonly #begun: UpstreamCall[] = [];

  static async open(scope: Scope): Promise<Site> {
    const upstream = await FakeUpstream.start();
    scope.after(() => upstream.close());
    const site = new Site(scope, upstream);
    await site.place.json('credit', 'add', '100');
    return site;
  }

  private constructor(scope: Scope, upstream: FakeUpstream) {
    this.place = new Workplace(scope, null);
    this.#upstream = upstream;
    upstream.follow((call) => {
      call.stream();
      call.send(chunk('begun'));
      this.#begun.push(call);
    });
    this.configure();
  }

  /** Writes the config of the gateways that start from now on. */
  configure(fields: Readonly<Record<string, unknown>> = {}): void {
    const models = { paid: { input: 0, output: 1000, max_output: 100 }, echo: { input: 0, output: 0 } };
    const config = {
      listen: '127.0.0.1:0',
      state: './state.db',
      timeouts: { drain: '20s' },
      providers: {
        mock: { kind: 'mock', models },
        host: {
          kind: 'openai',
          base_url: `http://127.0.0.1:${this.#upstream.port}/v1`,
          api_key: 'none',
          models: { stream: { input: 1, output: 1, max_output: 1000 } },
        },
      },
      ...fields,
    };
    this.place.write('config.yaml', JSON.stringify(config));
  }

  /** Of the gateway that decides. */
  get controlPath(): string {
    return `${this.place.statePath}-control`;
  }

  /** Starts a gateway, which takes over from the one that runs. */
  takeOver(): Promise<Serving> {
    return this.place.serve([PROGRAM, 'serve', '--takeover']);
  }

  /** A key that may do nearly anything, unless the options say otherwise. */
  key(name: string, ...options: string[]): Promise<NewKeyJson> {
    return this.place.createKey(name, '--rpm', '1000000', '--tpm', '1000000000', '--concurrency', '100000', ...options);
  }

  get streams(): number {
    return this.#begun.length;
  }

  /** Sends another piece of every stream. */
  continueStreams(): void {
    for (const call of this.#begun) call.send(chunk('more'));
  }

  /** Of a gateway that has died. */
  forgetStreams(): void {
    this.#begun.length = 0;
  }

  finishStreams(): void {
    for (const call of this.#begun.splice(0)) {
      call.send(chunk('end', 'stop') + usageChunk(USAGE) + DONE);
      call.end();
    }
  }

  /** All rows of the journal. No gateway may run. */
  journal(): Row[] {
    const database = new Database(this.place.statePath, { readonly: true });
    try {
      return database.prepare('SELECT request_id, key_id, outcome, source FROM journal').all() as Row[];
    } finally {
      database.close();
    }
  }
}
