/** Runs a gateway from start to exit, and handles the signals of its process. */
import type { Config } from '../config/config.ts';
import { askToHandOver } from '../control/client.ts';
import { meetingPath, socketPathOf } from '../control/protocol.ts';
import { isUnderNpm, PARENT_PID } from '../core/program.ts';
import type { Log, OpenLog } from '../observe/log.ts';
import { Predecessor } from '../takeover/predecessor.ts';
import { OFFER } from '../takeover/protocol.ts';
import { announceStart } from './announce.ts';
import { startGateway } from './gateway.ts';
import { Service } from './service.ts';
import { notify, takeSockets } from './systemd.ts';

/** Polling interval of the parent process id, which costs one system call. */
const PARENT_CHECK_MS = 250;

export interface RunOptions {
  /** Rereads the config for a reload. */
  readConfig(): Config;
  /** Whether to take over from the gateway that runs on the same state. */
  readonly takeover: boolean;
}

/**
 * Runs a gateway until a signal or a control command stops it. Resolves with the exit status. Throws a UserError if it cannot
 * start.
 */
export async function runGateway(config: Config, openLog: OpenLog, options: RunOptions): Promise<number> {
  const { log } = openLog;
  const exit = Promise.withResolvers<number>();
  process.on('uncaughtException', (error) => {
    // Set the status before logging, because logging may be the cause.
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
  const predecessor = options.takeover ? await findPredecessor(config, log) : undefined;
  // Exiting in the middle of a takeover would lose the state for both processes, so signals are deferred.
  const early = predecessor && new EarlySignals();
  const gateway = await startGateway(config, openLog, { onFatal }, { sockets }, predecessor);
  const service = new Service(gateway, log, options.readConfig, exit.resolve);
  await service.open();
  passSignals(service);
  announceStart(gateway, config, log);
  if (sockets.length > 0) log.info('systemd passed the address to listen on; `listen` in the config is not used');
  void notify({ ready: true, ...(predecessor && { mainPid: process.pid }) }, log);
  const signal = early?.end();
  if (signal !== undefined) service.stop(signal);
  return exit.promise;
}

const STOPS = ['SIGTERM', 'SIGINT'] as const;

function passSignals(service: Service): void {
  for (const signal of STOPS) process.on(signal, () => service.stop(signal));
  watchNpm(() => {
    if (!service.isShuttingDown) service.stop('npm has ended');
  });
  process.on('SIGHUP', () => void service.reload().catch(() => {}));
}

/** Records a stop signal until the gateway can handle it. */
class EarlySignals {
  #first: NodeJS.Signals | undefined;
  readonly #note = (signal: NodeJS.Signals) => {
    this.#first ??= signal;
  };

  constructor() {
    for (const signal of STOPS) process.on(signal, this.#note);
  }

  /** Returns the first signal. */
  end(): NodeJS.Signals | undefined {
    for (const signal of STOPS) process.off(signal, this.#note);
    return this.#first;
  }
}

/** Asks the gateway on the same state to hand over. Throws a UserError if it refuses. */
async function findPredecessor(config: Config, log: Log): Promise<Predecessor | undefined> {
  const path = socketPathOf(config);
  const greeting = await askToHandOver(path, OFFER);
  if (greeting === undefined) {
    log.info(`no gateway runs on ${config.statePath}: starting without a takeover`);
    return undefined;
  }
  const { pid, version } = greeting;
  log.info({ pid, version }, `taking over from process ${pid}, inf-gw ${version}`);
  return Predecessor.meet(meetingPath(path), greeting);
}

/**
 * Calls `onGone` when the parent process has exited, if npm or npx started this process. They run it in a shell, and a SIGTERM
 * kills npm and the shell without reaching this process, which the system then gives another parent. Therefore the parent id is
 * polled. An open stdin proves nothing, and processes started without npm may outlive their shell on purpose.
 */
function watchNpm(onGone: () => void): void {
  if (!isUnderNpm) return;
  const timer = setInterval(() => {
    if (process.ppid === PARENT_PID) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS);
  timer.unref();
}
