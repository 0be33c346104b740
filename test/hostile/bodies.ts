/**
 * Unfinished bodies: how much memory a gateway holds for one key that begins many and finishes
 * none.
 */
import { connect, type Socket } from 'node:net';
import type { OwnLimits } from '../../src/state/keys.ts';
import { Site } from '../control/site.ts';
import { GAUGED_SERVE, readGauge } from '../support/gauge.ts';
import type { Scope } from '../support/run-scope.ts';

export interface BodiesOptions {
  readonly bodies: number;
  readonly bodyBytes: number;
  readonly limits: Partial<OwnLimits>;
}

const BYTES_PER_MB = 1024 ** 2;
/** Memory is read until it stops growing, up to this many times. */
const MOST_READINGS = 100;
const STEADY_READINGS = 10;

/** The most memory beyond that of the idle gateway, in bodies. */
export async function memoryOfBodies(scope: Scope, { bodies, bodyBytes, limits }: BodiesOptions): Promise<number> {
  const site = await Site.open(scope, { max_body: `${bodyBytes / BYTES_PER_MB}mb` }, GAUGED_SERVE);
  const key = site.key(limits);
  const used = async () => {
    const { heapBytes, externalBytes } = await readGauge(site.place, site.serving);
    return heapBytes + externalBytes;
  };
  const atStart = await used();
  const head =
    'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
    `Authorization: Bearer ${key.secret}\r\nContent-Length: ${bodyBytes}\r\n\r\n`;
  const most = Buffer.concat([Buffer.from(`${head}{"model":"host/model","x":"`), Buffer.alloc(bodyBytes - 1_000, 'x')]);
  const sockets = await Promise.all(Array.from({ length: bodies }, () => open(site.port)));
  for (const socket of sockets) socket.write(most);
  const peak = await peakOf(used);
  for (const socket of sockets) socket.destroy();
  await site.stop();
  return Math.max(0, peak - atStart) / bodyBytes;
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(socket));
    // A refusal closes the connection while its body is still being sent.
    socket.on('error', reject).resume();
  });
}

async function peakOf(used: () => Promise<number>): Promise<number> {
  let peak = 0;
  for (let reading = 0, steady = 0; reading < MOST_READINGS && steady < STEADY_READINGS; reading++) {
    const bytes = await used();
    steady = bytes > peak + BYTES_PER_MB ? 0 : steady + 1;
    peak = Math.max(peak, bytes);
  }
  return peak;
}
