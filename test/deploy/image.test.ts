/**
 * The image's start command and config, and the systemd units, run without Docker or systemd.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PATHS, PROGRAM } from '../support/cli.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the image’s start command listens on 0.0.0.0 and keeps its state on the volume', async (t) => {
  const volume = mkdtempSync(join(tmpdir(), 'inf-gw-volume-'));
  t.after(() => rmSync(volume, { recursive: true }));
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  assert.match(dockerfile, /^VOLUME \/data$/m);
  assert.match(dockerfile, /cp deploy\/container\.yaml \/image\/etc\/inf-gw\/config\.yaml/);
  assert.match(dockerfile, /^ENV INF_GW_CONFIG=\/etc\/inf-gw\/config\.yaml /m);
  assert.match(dockerfile, /^ENTRYPOINT \["\/usr\/local\/bin\/inf-gw"\]$/m);
  const words = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];

  // Paths of the image are mapped to paths here. Port 0 avoids a conflict on the image's port.
  const config = join(volume, 'config.yaml');
  const inImage = readFileSync(join(ROOT, 'deploy/container.yaml'), 'utf8');
  assert.match(inImage, /^listen: 0\.0\.0\.0:8787$/m);
  writeFileSync(config, inImage.replace('/data/', `${volume}/`).replace(':8787', ':0'));
  const gateway = spawn(process.execPath, [PROGRAM, ...words], {
    cwd: ROOT,
    env: { ...PATHS, INF_GW_CONFIG: config },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(gateway, 'exit');
  t.after(() => gateway.kill('SIGKILL'));
  const listening = await lineWith(gateway.stderr, '"address"');
  const { address, port } = JSON.parse(listening) as { address: string; port: number };
  assert.equal(address, '0.0.0.0');
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
  assert.ok(existsSync(join(volume, 'inf-gw.db')));
  gateway.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

test('the systemd unit and the command inf-gw run the same program, and a checkout has what its comment names', () => {
  const unit = readFileSync(join(ROOT, 'deploy/inf-gw.service'), 'utf8');
  const [program = '', ...words] = (/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '').split(' ');
  const wrapper = readFileSync(join(ROOT, 'deploy/inf-gw.sh'), 'utf8');
  assert.ok(wrapper.includes(`exec ${program} "$@"`));
  assert.deepEqual(words, ['serve', '--config', '/etc/inf-gw/config.yaml']);
  const reloads = [...unit.matchAll(/^ExecReload=(.*)$/gm)].map(([, command]) => command);
  const config = '--config /etc/inf-gw/config.yaml';
  assert.deepEqual(reloads, [
    `${program} config check ${config}`,
    `/bin/sh -c 'exec ${program} serve --takeover ${config} &'`,
  ]);
  const inCheckout = [...unit.matchAll(/\/opt\/inf-gw(\/(?:bin|node_modules)\/[\w./-]*\w)/g)].map(
    ([, path]) => path as string,
  );
  assert.equal(inCheckout.length, 2);
  for (const path of inCheckout) assert.ok(existsSync(join(ROOT, path)), `${path} is not in the project`);
});

test('the socket unit listens where the example config does', () => {
  const socket = readFileSync(join(ROOT, 'deploy/inf-gw.socket'), 'utf8');
  const address = /^ListenStream=(.*)$/m.exec(socket)?.[1];
  assert.match(readFileSync(join(ROOT, 'config.example.yaml'), 'utf8'), new RegExp(`^listen: ${address} `, 'm'));
});

test('the command inf-gw knows the variables of the unit', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-etc-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of the config.
  writeFileSync(join(folder, 'config.yaml'), 'state: postgres://${DATABASE_USER}@db.internal/inf_gw\n');
  writeFileSync(join(folder, 'environment'), "# of the unit\n\nDATABASE_USER=it's $me");
  const wrapper = readFileSync(join(ROOT, 'deploy/inf-gw.sh'), 'utf8');
  const script = wrapper
    .replace('/opt/inf-gw/inf-gw', `'${process.execPath}' '${join(ROOT, 'bin/inf-gw.js')}'`)
    .replaceAll('/etc/inf-gw', folder);
  const done = spawnSync('sh', ['-c', script, 'inf-gw', 'config', 'check'], { env: PATHS, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  assert.ok(done.stdout.includes("postgres://it's%20%24me@db.internal:5432/inf_gw"), done.stdout);
});

test('systemd goes on starting a gateway that cannot reach its database', () => {
  const unit = readFileSync(join(ROOT, 'deploy/inf-gw.service'), 'utf8');
  assert.match(unit, /^Restart=on-failure\nRestartSec=1$/m);
  assert.match(unit, /^StartLimitIntervalSec=0$/m);
});

async function lineWith(stream: NodeJS.ReadableStream, text: string): Promise<string> {
  for await (const line of createInterface({ input: stream })) {
    if (line.includes(text)) return line;
  }
  throw new Error(`the stream ended without ${text}`);
}
