/** Runs a gateway from start to exit: signals, the control socket, and an orderly shutdown. */
import type { Config } from '../config/config.ts';
import { type ModelRow, type Snapshot, socketPathOf } from '../control/protocol.ts';
import { type ControlHandlers, ControlServer } from '../control/server.ts';
import { UserError } from '../core/errors.ts';
import { counted } from '../core/plural.ts';
import { isUnderNpm } from '../core/program.ts';
import type { Log, OpenLog } from '../observe/log.ts';
import type { SnapshotQuery } from '../observe/worker-snapshot.ts';
import { announceProviders, announceStart } from './announce.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { watchNpm } from './parent.ts';
import { modelRows } from './served.ts';
import { notify, takeSockets } from './systemd.ts';

/**
 * Runs a gateway until a signal or the control socket stops it. `readConfig` reads the config again
 * for a reload. Resolves with the exit status. Throws a UserError if the gateway cannot start.
 */
export async function runGateway(config: Config, openLog: OpenLog, readConfig: () => Config): Promise<number> {
  const { log } = openLog;
  const exit = Promise.withResolvers<number>();
  process.on('uncaughtException', (error) => {
    // Before the log line: logging may be what failed.
    exit.resolve(1);
    log.fatal({ err: error }, 'internal error');
  });
  const sockets = takeSockets(process.env, process.pid);
  const onFatal = (error: Error) => {
    log.fatal(
      { err: error },
      'internal error: a thread died; the next start will charge requests in flight their holds',
    );
    exit.resolve(1);
  };
  const gateway = await startGateway(config, openLog, { onFatal }, { sockets });
  const service = new Service(gateway, log, readConfig, exit.resolve);
  await service.open();
  announceStart(gateway, config, log);
  if (sockets.length > 0) log.info('systemd passed the address to listen on; `listen` in the config is not used');
  void notify({ ready: true }, log);
  return exit.promise;
}

/**
 * Ctrl-C reaches every process of the terminal, and npm passes its signal on to us as well. Within
 * this time after the first signal, a second one is that copy.
 */
const NPM_COPY_MS = 500;

/**
 * A running gateway under the control of its operator, by signals and through the control socket.
 */
class Service implements ControlHandlers {
  readonly #gateway: Gateway;
  readonly #log: Log;
  readonly #readConfig: () => Config;
  readonly #exit: (status: number) => void;
  #isShuttingDown = false;
  #stoppedAtMs = 0;
  #control: ControlServer | undefined;

  constructor(gateway: Gateway, log: Log, readConfig: () => Config, exit: (status: number) => void) {
    this.#gateway = gateway;
    this.#log = log;
    this.#readConfig = readConfig;
    this.#exit = exit;
  }

  /** Opens the control socket and listens for signals. */
  async open(): Promise<void> {
    const socketPath = socketPathOf(this.#gateway.config);
    try {
      const control = new ControlServer(socketPath, this);
      await control.listen();
      this.#control = control;
    } catch (error) {
      // Requests can be served without it.
      this.#log.error({ err: error }, `${(error as Error).message}; status, reload and tui cannot reach this gateway`);
    }
    process.on('SIGTERM', (signal) => this.#onStop(signal));
    process.on('SIGINT', (signal) => this.#onStop(signal));
    watchNpm(() => {
      if (!this.#isShuttingDown) this.#onStop('npm has ended');
    });
    process.on('SIGHUP', () => void this.reload().catch(() => {}));
  }

  snapshot(query: SnapshotQuery): Promise<Snapshot> {
    return this.#gateway.snapshot(query);
  }

  models(): readonly ModelRow[] {
    return modelRows(this.#gateway.config);
  }

  stopRequest(id: string): Promise<boolean> {
    return this.#gateway.stopRequest(id);
  }

  async reload(): Promise<void> {
    try {
      if (this.#isShuttingDown) throw new UserError('the gateway is shutting down');
      const config = this.#readConfig();
      await this.#gateway.reload(config);
      this.#log.info('config reloaded');
      announceProviders(config, this.#log);
    } catch (error) {
      const lines = error instanceof UserError ? error.lines : [String(error)];
      for (const line of lines) this.#log.error(`config not reloaded: ${line}`);
      throw error;
    }
  }

  drain(): void {
    this.#onStop('drain');
  }

  /** `cause` is the name of a signal, or what else stops the gateway. */
  #onStop(cause: string): void {
    if (this.#isShuttingDown) {
      if (isUnderNpm && performance.now() - this.#stoppedAtMs < NPM_COPY_MS) return;
      this.#log.warn(`${cause} again: exiting at once`);
      this.#exit(1);
      return;
    }
    this.#isShuttingDown = true;
    this.#stoppedAtMs = performance.now();
    this.#shutDown(cause).then(this.#exit, (error: unknown) => {
      this.#log.fatal({ err: error }, 'internal error while shutting down');
      this.#exit(1);
    });
  }

  async #shutDown(cause: string): Promise<number> {
    void notify({ stopping: true }, this.#log);
    const { drainMs } = this.#gateway.config.timeouts;
    const requests = counted(await this.#gateway.inFlight(), 'request');
    this.#log.info(`${cause}: shutting down, waiting up to ${drainMs / 1000} s for ${requests} in flight`);
    // The socket goes before the lock: the next gateway creates its own at the same path.
    const unsettled = await this.#gateway.stop(drainMs, () => this.#control?.close());
    if (unsettled === 0) {
      this.#log.info('everything is settled');
      return 0;
    }
    this.#log.error(`${counted(unsettled, 'request')} could not be settled; the next start will charge their holds`);
    return 1;
  }
}
