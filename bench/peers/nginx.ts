/**
 * nginx as a plain proxy with one worker, if it is installed: a proxy that is not written in
 * JavaScript.
 */
import { type ChildProcess, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OutsideProcess } from '../outside-process.ts';
import { type Access, freePort, startServer } from '../start-server.ts';
import { type Server, temporaryDirectory } from '../targets.ts';

export const NGINX = 'nginx';

/** More than any workload opens, on both sides. */
const MAX_CONNECTIONS = 16_384;
const KEPT_TO_UPSTREAM = 2_048;

/** The version of nginx; undefined if it is not installed. */
export function nginxVersion(): string | undefined {
  const { status, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' });
  return status === 0 ? /\/([\d.]+)/.exec(stderr)?.[1] : undefined;
}

export async function nginx(upstreamPort: number): Promise<Server> {
  const access: Access = { port: await freePort(), key: 'ignored', headers: [] };
  const folder = temporaryDirectory();
  const configPath = join(folder, 'nginx.conf');
  writeFileSync(configPath, configText(folder, access.port, upstreamPort));
  const logPath = join(folder, 'stderr.log');
  const measure = (child: ChildProcess) => new OutsideProcess(child);
  const args = ['-c', configPath, '-p', folder, '-e', 'stderr'];
  return {
    name: NGINX,
    ...access,
    mayFail: true,
    logPath,
    start: () => startServer({ command: 'nginx', args, logPath, measure }, access),
    audit: () => undefined,
  };
}

/** One process, no log, no buffering, keep-alive on both sides: as lean as the bare proxies. */
function configText(folder: string, port: number, upstreamPort: number): string {
  const scratch = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections ${MAX_CONNECTIONS}; }
http {
  access_log off;
  ${scratch.join('\n  ')}
  tcp_nodelay on;
  keepalive_requests 1000000000;
  upstream bench { server 127.0.0.1:${upstreamPort}; keepalive ${KEPT_TO_UPSTREAM}; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://bench;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}
