/** Runs a gateway from start to exit, and passes on the signals of its process. */
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

/** How often it is looked whether npm has ended: to read the id of the parent is one system call. */
const PARENT_CHECK_MS = 250;

export interface RunOptions {
  /** Reads the config again for a reload. */
  readConfig(): Config;
  /** Whether to take over from a gateway that runs on the same state. */
  readonly takeover: boolean;
}

/**
 * Runs a gateway until a signal or the control socket stops it. Resolves with the exit status. Throws a
 * UserError if the gateway cannot start.
 */
export async function runGateway(config: Config, openLog: OpenLog, options: RunOptions): Promise<number> {
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
  const predecessor = options.takeover ? await findPredecessor(config, log) : undefined;
  // To end by a signal with the state of the other process would take it from both.
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

/** Remembers a signal to stop until there is a gateway that can. */
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

/** The gateway that runs on the same state, once it has agreed to hand over. Throws a UserError if it does not. */
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
 * Calls `onGone` once the parent process is gone, if npm or npx started this one. They run it in a
 * shell, and a SIGTERM ends npm and that shell without reaching what runs in it. The system then
 * gives the process another parent, which is what is watched: stdin may stay open, and a process
 * without npm may outlive the shell that started it on purpose.
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
