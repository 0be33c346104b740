/**
 * Portkey's open-source gateway, as its own package starts it: no keys, no limits, no accounting.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Access, freePort, nodeProgram, startServer } from '../start-server.ts';
import { type Server, temporaryDirectory } from '../targets.ts';

export const PORTKEY = 'Portkey';

const PACKAGE = join(import.meta.dirname, 'node_modules', '@portkey-ai', 'gateway');

export function portkeyVersion(): string {
  return (JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string }).version;
}

export async function portkey(upstreamPort: number): Promise<Server> {
  const program = join(PACKAGE, 'build', 'start-server.js');
  if (!existsSync(program)) throw new Error(`not found: ${program}; run npm ci --prefix bench/peers`);
  const access: Access = {
    port: await freePort(),
    key: 'ignored',
    headers: ['x-portkey-provider: openai', `x-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1`],
  };
  const logPath = join(temporaryDirectory(), 'stderr.log');
  const node = nodeProgram([program, `--port=${access.port}`, '--headless'], logPath);
  const environment = { NODE_ENV: 'production' };
  return {
    name: PORTKEY,
    ...access,
    mayFail: true,
    logPath,
    start: () => startServer({ ...node, environment }, access),
    audit: () => undefined,
  };
}
