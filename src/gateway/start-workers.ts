/** Starts a single worker in this thread, or several in their own threads. */
import type { Config } from '../config/config.ts';
import { assertFree } from '../http/address.ts';
import { lockPort, type PortLock } from '../http/port-lock.ts';
import type { RunningLedger } from '../ledger/client.ts';
import type { OpenLog } from '../observe/log.ts';
import { startRemoteWorker } from './remote-worker.ts';
import type { Worker, WorkerParts } from './worker.ts';

interface WorkersOptions extends Pick<WorkerParts, 'certificate' | 'grace' | 'counter'> {
  /** Descriptors of listening sockets; empty to open the configured address. */
  readonly descriptors: readonly number[];
}

/** Starts the workers. With several, this thread handles only signals and the log. */
export async function startWorkers(
  config: Config,
  ledger: RunningLedger,
  { log, write }: OpenLog,
  onDeath: (error: Error) => void,
  { certificate, grace, counter, descriptors }: WorkersOptions,
): Promise<Worker[]> {
  const workers: Worker[] = [];
  let portLock: PortLock | undefined;
  try {
    if (config.threads === 1) {
      const { startWorker } = await import('./worker.ts');
      return [await startWorker({ config, certificate, ledger: ledger.client, log, grace, counter, descriptors })];
    }
    let { listen } = config;
    // A single listener fails if the port is in use. Several share it with SO_REUSEPORT, which would also share it with another
    // gateway, so the port is locked and checked first.
    if (listen.port !== 0 && descriptors.length === 0) {
      portLock = await lockPort(listen);
      await assertFree(listen);
    }
    while (workers.length < config.threads) {
      const own = descriptors.filter((_, index) => index % config.threads === workers.length);
      const start = { config: { ...config, listen }, certificate, ledger: ledger.connect(), grace, descriptors: own };
      const worker = await startRemoteWorker(start, { onLog: write, onDeath });
      workers.push(worker);
      // The other workers share a port assigned by the system.
      listen = { ...listen, port: worker.address.port };
    }
    return workers;
  } catch (error) {
    await Promise.all(workers.map((worker) => worker.stop(0)));
    await Promise.all(workers.map((worker) => worker.close()));
    await ledger.close();
    throw error;
  } finally {
    portLock?.release();
  }
}
