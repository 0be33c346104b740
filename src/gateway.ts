/** The composition root: turns a config into running parts, wired to each other. */
import type { AddressInfo } from 'node:net';
import { type Carrier, startCarrier } from './carrier/carrier.ts';
import { startRemoteCarrier } from './carrier/remote.ts';
import type { Config } from './config/config.ts';
import { assertFree } from './http/address.ts';
import { type RunningLedger, startLedger } from './ledger/client.ts';
import type { LedgerSummary } from './ledger/ledger.ts';
import { type Lock, lockPort, lockState } from './ledger/sqlite-lock.ts';
import type { OpenLog } from './observe/log.ts';

export interface GatewayEvents {
  /** A thread has died by a fault of the program: the process cannot go on. */
  onFatal(error: Error): void;
}

export class Gateway {
  readonly summary: LedgerSummary;
  readonly #carriers: readonly Carrier[];
  readonly #ledger: RunningLedger;
  readonly #locks: readonly Lock[];

  constructor(carriers: readonly Carrier[], ledger: RunningLedger, locks: readonly Lock[]) {
    this.summary = ledger.summary;
    this.#carriers = carriers;
    this.#ledger = ledger;
    this.#locks = locks;
  }

  get address(): AddressInfo {
    return (this.#carriers[0] as Carrier).address;
  }

  /** Requests under way. */
  async inFlight(): Promise<number> {
    return sum(await Promise.all(this.#carriers.map((carrier) => carrier.inFlight())));
  }

  /**
   * Lets what is under way finish, for as long as `milliseconds`, then gives up what is left, settles it and closes.
   * Resolves with the number of requests that could not be settled: they stay open in the file.
   */
  async stop(milliseconds: number): Promise<number> {
    const unsettled = await Promise.all(this.#carriers.map((carrier) => carrier.stop(milliseconds)));
    await this.#ledger.close();
    for (const lock of this.#locks) lock.release();
    return sum(unsettled);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Starts a gateway. Throws a UserError when the state file or the address cannot be had; nothing is left running then. */
export async function startGateway(config: Config, openLog: OpenLog, events: GatewayEvents): Promise<Gateway> {
  const { log } = openLog;
  const locks: Lock[] = [];
  try {
    locks.push(lockState(config.statePath));
    const ledger = await startLedger(
      {
        path: config.statePath,
        durability: config.durability,
        creditEnforced: config.creditEnforced,
        journalRetentionMs: config.journalRetentionMs,
        ...config.tier,
      },
      {
        onStorageFault: (message) => log.error(message),
        onStorageRecovered: () => log.info('the state file can be written again'),
        onDeath: (error) => events.onFatal(error),
      },
    );
    if (ledger.summary.created) log.info(`created the state file ${config.statePath}`);
    return new Gateway(await startCarriers(config, ledger, openLog, events), ledger, locks);
  } catch (error) {
    for (const lock of locks) lock.release();
    throw error;
  }
}

/** One carrier is in this thread; several have threads of their own, which leaves this one to signals and the log. */
async function startCarriers(
  config: Config,
  ledger: RunningLedger,
  { log, write }: OpenLog,
  events: GatewayEvents,
): Promise<Carrier[]> {
  const carriers: Carrier[] = [];
  let portLock: Lock | undefined;
  try {
    if (config.threads === 1) return [await startCarrier({ config, ledger: ledger.client, log })];
    let { listen } = config;
    // One thread alone has the port for itself; of several none has, so that nobody would be told that it is taken.
    if (listen.port !== 0) {
      portLock = await lockPort(listen.port);
      await assertFree(listen);
    }
    while (carriers.length < config.threads) {
      const start = { config: { ...config, listen }, ledger: ledger.connect() };
      const carrier = await startRemoteCarrier(start, { onLog: write, onDeath: events.onFatal });
      carriers.push(carrier);
      // Where the system chose the port, the others take the same one.
      listen = { ...listen, port: carrier.address.port };
    }
    return carriers;
  } catch (error) {
    await Promise.all(carriers.map((carrier) => carrier.stop(0)));
    await ledger.close();
    throw error;
  } finally {
    portLock?.release();
  }
}
