/** Opens the state of a starting gateway, or takes it over from a running one. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { readSnapshot } from '../control/client.ts';
import { type Greeting, socketPathOf } from '../control/protocol.ts';
import type { ListenAddress } from '../core/address.ts';
import { UserError } from '../core/errors.ts';
import { counted } from '../core/plural.ts';
import { assertFree } from '../http/address.ts';
import type { RunningLedger, WaitingLedger } from '../ledger/client.ts';
import { type Lock, lockHandedOver, lockState, tryLockTakeover } from '../state/sqlite/lock.ts';
import type { Predecessor } from '../takeover/predecessor.ts';

export interface ServingState {
  readonly ledger: RunningLedger;
  /** Lock of a state file; undefined for PostgreSQL, where the database registers gateways. */
  readonly lock: Lock | undefined;
  /** Descriptors of listening sockets taken over. */
  readonly descriptors: readonly number[];
  /** Set while it has requests in flight. */
  readonly predecessor: Predecessor | undefined;
}

/** Starts the ledger thread; see `prepareLedger`. */
type PrepareLedger = (isAhead: boolean) => WaitingLedger;

/** Throws a UserError if another gateway runs on the state, or the state is unusable. */
export async function openState(
  config: Config,
  prepare: PrepareLedger,
  sockets: readonly number[],
): Promise<ServingState> {
  assertOneForEach(config.threads, sockets);
  // Checks the address first, so that a failed start does not create a state file.
  if (sockets.length === 0 && (config.state.kind === 'postgres' || !existsSync(config.state.path))) {
    await assertFree(config.listen);
  }
  const lock = config.state.kind === 'file' ? lockState(config.state.path) : undefined;
  try {
    if (lock !== undefined) await refuseUnlocked(config);
    return { ledger: await prepare(false).open(), lock, descriptors: sockets, predecessor: undefined };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/**
 * Takes over from a running gateway. On failure throws a UserError, and the running gateway continues. If that gateway dies
 * during the takeover, its open requests are charged as held, as after a crash. `workers`: the modules required to serve.
 */
export async function takeOver(
  config: Config,
  prepare: PrepareLedger,
  from: Predecessor,
  workers: Promise<unknown>,
): Promise<ServingState> {
  let lock: Lock | undefined;
  let takeover: Lock | undefined;
  const waiting = prepare(true);
  try {
    takeover = tryLockTakeover(config.statePath);
    if (takeover === undefined) throw new UserError(`another process is taking over ${config.statePath}`);
    const isSame = listensAt(config.listen, from.greeting);
    if (!isSame) await assertFree(config.listen);
    const descriptors = await from.takeSockets(isSame ? Math.max(from.greeting.sockets, config.threads) : 0);
    await Promise.all([waiting.loaded, workers]);
    // From here until the state is open, neither process decides.
    const handover = await from.takeState();
    if (handover === undefined) {
      lock = await lockHandedOver(config.statePath);
      return { ledger: await waiting.open(), lock, descriptors, predecessor: undefined };
    }
    const ledger = await waiting.open(handover);
    await from.confirm();
    lock = await lockHandedOver(config.statePath);
    from.connect(ledger, handover);
    return { ledger, lock, descriptors, predecessor: from };
  } catch (error) {
    from.leave();
    await waiting.discard();
    lock?.release();
    throw error;
  } finally {
    takeover?.release();
  }
}

/** Throws a UserError if a gateway answers although the state could be locked: its lock file was deleted. */
async function refuseUnlocked(config: Config): Promise<void> {
  const running = await readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 });
  if (running === undefined) return;
  throw new UserError(
    `process ${running.pid} serves ${config.statePath}, and its lock was deleted: stop that process, and start again`,
  );
}

/** Requires one socket per worker. A socket without a worker would accept connections and never answer. */
function assertOneForEach(threads: number, sockets: readonly number[]): void {
  if (sockets.length === 0 || sockets.length === threads) return;
  throw new UserError(
    `systemd passed ${counted(sockets.length, 'socket')}, and \`threads: ${threads}\` needs ${threads}: ` +
      'give the socket unit one ListenStream= line for each, and ReusePort=yes if there are several',
  );
}

/** Whether an address in the config equals the gateway's actual address, or the address in its config. */
function listensAt({ host, port }: ListenAddress, { listen, address }: Greeting): boolean {
  return [listen, address].some((own) => own.host === host && own.port === port);
}
