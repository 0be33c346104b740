/** Creates and disables the key of a command, and reads its receipt, in the state of its gateway. */
import type { Config } from '../../config/config.ts';
import type { KeyRefusal } from '../../control/protocol.ts';
import type { Look } from '../../operator/table.ts';
import type { KeyRecord } from '../../state/keys.ts';
import { withStateOf } from '../state.ts';
import { type Ended, idsOnLeash, readFacts } from './facts.ts';
import type { LeashGateway } from './gateway.ts';
import { createLeash, type LeashTerms } from './leash.ts';
import { runVariable } from './outer.ts';
import { receiptJson, receiptLines } from './receipt.ts';

export interface LeashedKey {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
}

/** An ended command. */
export type EndedCommand = Pick<Ended, 'command' | 'ending' | 'startedAtMs'>;

export interface Receipt {
  lines(look: Look): string[];
  json(): object;
}

/** Resolves when no request is in flight, or when the wait is aborted. */
export type UntilIdle = (inFlight: () => Promise<number>) => Promise<void>;

export interface Desk {
  /** The gateway's address for clients. */
  readonly url: string;
  /** The gateway's config, as far as it is known here. */
  readonly config: Config;
  /** Whether a provider refuses the gateway's key, as checked by the gateway. Undefined if it cannot be asked. */
  keyRefusal(provider: string): Promise<KeyRefusal | undefined>;
  /** Creates the key. Throws a UserError if that is impossible. */
  make(file: string, terms: LeashTerms): Promise<LeashedKey>;
  /** Variables for inner runs. */
  variables(keyId: string): NodeJS.ProcessEnv;
  /** Disables the created key, waits for its requests in flight, and returns the receipt. */
  end(ended: EndedCommand, untilIdle: UntilIdle): Promise<Receipt>;
  /** Stops everything that was started for the command. */
  stop(): Promise<void>;
}

/** Creates and disables the key in the state of a gateway. */
export class StateDesk implements Desk {
  readonly #gateway: LeashGateway;
  #record: KeyRecord | undefined;

  constructor(gateway: LeashGateway) {
    this.#gateway = gateway;
  }

  get url(): string {
    return this.#gateway.url;
  }

  get config(): Config {
    return this.#gateway.config;
  }

  keyRefusal(provider: string): Promise<KeyRefusal | undefined> {
    return this.#gateway.keyRefusal(provider);
  }

  async make(file: string, terms: LeashTerms): Promise<LeashedKey> {
    const { outerId } = this.#gateway;
    const make = (state: Parameters<typeof createLeash>[3]) => createLeash(file, terms, outerId, state);
    const { record, secret } = await withStateOf(this.config, make, { creates: true });
    this.#record = record;
    return { id: record.id, name: record.name, secret };
  }

  variables(keyId: string): NodeJS.ProcessEnv {
    return runVariable(keyId, this.config);
  }

  async end(ended: EndedCommand, untilIdle: UntilIdle): Promise<Receipt> {
    const gateway = this.#gateway;
    const key = this.#record as KeyRecord;
    const endedAtMs = Date.now();
    try {
      const ids = await withStateOf(this.config, async (state) => {
        // The key is disabled even if an operator has changed it.
        await state.keys.setState(key.id, 'disabled');
        return idsOnLeash(key, state);
      });
      await untilIdle(async () => (await gateway.activityOf(ids)).inFlight);
    } finally {
      await gateway.stop();
    }
    const facts = await withStateOf(this.config, (state) => readFacts({ ...ended, gateway, key, endedAtMs }, state));
    return { lines: (look) => receiptLines(facts, look), json: () => receiptJson(facts) };
  }

  stop(): Promise<void> {
    return this.#gateway.stop();
  }
}
