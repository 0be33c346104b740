/** Where the key of a command is made and ended, and where its receipt comes from: the state of its gateway. */
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

/** A command that has ended. */
export type EndedCommand = Pick<Ended, 'command' | 'ending' | 'startedAtMs'>;

export interface Receipt {
  lines(look: Look): string[];
  json(): object;
}

/** Waits until nothing is in flight, or nobody wants to wait any longer. */
export type UntilIdle = (inFlight: () => Promise<number>) => Promise<void>;

export interface Desk {
  /** Where clients reach the gateway. */
  readonly url: string;
  /** Of the gateway, as far as it is known here. */
  readonly config: Config;
  /** Whether a provider refuses the gateway's key, as the gateway finds out. Undefined where that is out of reach. */
  keyRefusal(provider: string): Promise<KeyRefusal | undefined>;
  /** Throws a UserError if there can be no key. */
  make(file: string, terms: LeashTerms): Promise<LeashedKey>;
  /** What the runs inside of the command are told. */
  variables(keyId: string): NodeJS.ProcessEnv;
  /** Ends the key that was made. */
  end(ended: EndedCommand, untilIdle: UntilIdle): Promise<Receipt>;
  /** Stops what was started for the command. */
  stop(): Promise<void>;
}

/** Makes and ends the key in the state of a gateway. */
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
        // Whatever an operator has done with it meanwhile.
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
