/** Checks that the running gateway is ready or, without one, that its addresses are free. */
import type { Config } from '../config/config.ts';
import { readSnapshot } from '../control/client.ts';
import { type Snapshot, socketPathOf } from '../control/protocol.ts';
import { formatAddress, isLoopback, type ListenAddress, originOf, ownAddress } from '../core/address.ts';
import { program, VERSION } from '../core/program.ts';
import { assertFree } from '../http/address.ts';
import { duration } from '../operator/format.ts';
import { type Finding, failure, ok, refused, warning } from './finding.ts';
import { probe } from './probe.ts';

const READY_MS = 5_000;

export async function checkGateway(config: Config): Promise<readonly Finding[]> {
  try {
    const snapshot = await readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 });
    return snapshot === undefined ? await checkAddress(config) : await checkRunning(config, snapshot);
  } catch (error) {
    return [refused('gateway', error)];
  }
}

/** Returns undefined if no gateway answers; `checkGateway` reports the reason. */
export async function openFilesOfGateway(config: Config): Promise<Snapshot['open_files'] | undefined> {
  const snapshot = await readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 }).catch(() => undefined);
  return snapshot?.open_files;
}

async function checkAddress({ listen, tls, metrics, health }: Config): Promise<Finding[]> {
  const findings = await checkServing(listen, tls !== undefined);
  if (health !== undefined) findings.push(await checkFree('health', health));
  if (metrics !== undefined) findings.push(await checkFree('metrics', metrics.listen));
  return findings;
}

/** `name`: the config field. */
async function checkFree(name: string, listen: ListenAddress): Promise<Finding> {
  try {
    await assertFree(listen, name);
    return ok(name, `${formatAddress(listen)} is free`);
  } catch (error) {
    return refused(name, error);
  }
}

async function checkServing(listen: ListenAddress, isTls: boolean): Promise<Finding[]> {
  try {
    await assertFree(listen);
    const note =
      isTls || listen.host === 'localhost' || isLoopback(listen.host)
        ? ''
        : '; other machines can reach it, by plain HTTP';
    return [ok('address', `${formatAddress(listen)} is free, and no gateway runs on this state${note}`)];
  } catch (error) {
    return [refused('address', error)];
  }
}

async function checkRunning({ listen }: Config, snapshot: Snapshot): Promise<Finding[]> {
  const name = 'gateway';
  const { address, now_ms: nowMs, started_at_ms: startedAtMs, pid, version } = snapshot;
  const origin = originOf(ownAddress(address), snapshot.tls !== null);
  // The certificate need not cover this local address. No key is sent.
  const own = { checksCertificate: false };
  const answer = await probe({ origin, path: '/readyz', headers: {}, tellsKey: false }, READY_MS, own);
  const up = `version ${version}, process ${pid}, up ${duration((nowMs - startedAtMs) / 1000)}`;
  const findings: Finding[] = [];
  if (answer.kind === 'failed') {
    findings.push(
      failure(
        name,
        `it runs (${up}), but ${address} does not answer (${answer.code})`,
        'look at its log, and restart it',
      ),
    );
  } else if (answer.status !== 200) {
    const why =
      snapshot.storage_fault ?? (snapshot.draining ? 'it is shutting down' : `/readyz answers ${answer.status}`);
    findings.push(failure(name, `it runs (${up}), but takes no requests: ${why}`, 'look at its log'));
  } else {
    findings.push(ok(name, `ready at ${address}: ${up}`));
  }
  if (version !== VERSION)
    findings.push(warning(name, `it runs version ${version}, and this is ${VERSION}`, 'restart it'));
  if (listen.port !== 0 && !address.endsWith(`:${listen.port}`)) {
    findings.push(
      warning(
        name,
        `it listens on ${address}, but the config says ${formatAddress(listen)}`,
        `restart it; \`${program()} reload\` cannot change that`,
      ),
    );
  }
  return findings;
}
