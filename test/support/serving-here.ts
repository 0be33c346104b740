/**
 * A gateway in the process of the test, as `serve` runs it: with a config, a log, and a control socket that the commands of
 * other processes reach. It lacks only what is the process's own: signals that the system sends, and the exit.
 */
import { type LoadOptions, loadConfig } from '../../src/config/load.ts';
import { announceStart } from '../../src/gateway/announce.ts';
import { type Gateway, startGateway } from '../../src/gateway/gateway.ts';
import { Service } from '../../src/gateway/service.ts';
import { forwardedLog, type Log } from '../../src/observe/log.ts';
import { COUNT_MS, counter } from './gateway.ts';
import { type End, Serving } from './serving.ts';

export class ServingHere extends Serving {
  readonly pid = process.pid;
  readonly ended: Promise<End>;
  readonly #exit = Promise.withResolvers<number>();
  readonly #log: { readonly log: Log; flush(): void };
  #gateway!: Gateway;
  #service!: Service;

  static async start(options: LoadOptions): Promise<ServingHere> {
    const config = loadConfig(options);
    const serving = new ServingHere(config.logLevel);
    const { log } = serving.#log;
    const write = (lines: string) => serving.noteLines(lines);
    const onFatal = (error: Error) => {
      throw error;
    };
    const grace = { countMs: COUNT_MS };
    serving.#gateway = await startGateway(
      config,
      { log, write, close: async () => {} },
      { onFatal },
      { grace, counter },
    );
    serving.#service = new Service(serving.#gateway, log, () => loadConfig(options), serving.#exit.resolve);
    await serving.#service.open();
    announceStart(serving.#gateway, config, log);
    return serving;
  }

  private constructor(logLevel: string) {
    super();
    this.#log = forwardedLog(logLevel, (lines) => this.noteLines(lines));
    this.ended = this.#exit.promise.then((status) => {
      this.#log.flush();
      const end = { status, signal: null };
      this.noteEnd(end);
      return end;
    });
  }

  signal(signal: NodeJS.Signals): void {
    switch (signal) {
      case 'SIGTERM':
      case 'SIGINT':
        return this.#service.stop(signal);
      case 'SIGHUP':
        return void this.#service.reload().catch(() => {});
      default:
        throw new Error(`${signal} needs a process of its own: start the gateway with \`serve\``);
    }
  }

  async discard(): Promise<void> {
    if (!this.#service.isShuttingDown) {
      // Nobody waits for requests that a test leaves behind.
      const { config } = this.#gateway;
      await this.#gateway.reload({ ...config, timeouts: { ...config.timeouts, drainMs: 0 } });
      this.#service.stop('the end of the test');
    }
    await this.ended;
  }
}
