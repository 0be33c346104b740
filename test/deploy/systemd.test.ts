/** What systemd and the gateway tell each other, with a program in the place of systemd's. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { UserError } from '../../src/core/errors.ts';
import { notify, takeSockets } from '../../src/gateway/systemd.ts';
import type { Log } from '../../src/observe/log.ts';
import { TLS, TRUSTING } from '../support/certificates.ts';
import { CONFIG, PATHS, PROGRAM, type Serving, Workplace } from '../support/cli.ts';
import { RawConnection, type SecureOptions } from '../support/raw.ts';
import { ServingProcess } from '../support/serving.ts';
import { bounded, until } from '../support/wait.ts';

/** Writes what it is told, and by whom. */
const FAKE_NOTIFY = '#!/bin/sh\necho "$@ to $NOTIFY_SOCKET, secret <$OPENAI_API_KEY>" >>"$0.told"\n';

/** Starts a program when told to, with `LISTEN_PID` as systemd sets it: the process that it becomes. */
const AS_SYSTEMD = 'read -r go; LISTEN_PID=$$ exec "$0" "$@"';

interface Start {
  readonly serving: Serving;
  go(): void;
}

class Service {
  readonly place: Workplace;
  readonly #told: string;
  readonly #children: ChildProcess[] = [];

  constructor(scope: { after(cleanUp: () => void): void }) {
    this.place = new Workplace(scope, CONFIG);
    chmodSync(this.place.write('systemd-notify', FAKE_NOTIFY), 0o755);
    this.#told = this.place.write('systemd-notify.told', '');
    scope.after(() => {
      for (const child of this.#children) child.kill('SIGKILL');
    });
  }

  /** What the program has been told. */
  get told(): string[] {
    return readFileSync(this.#told, 'utf8').split('\n').slice(0, -1);
  }

  /** The environment of a service with `Type=notify`. */
  get environment(): Record<string, string> {
    const { directory } = this.place;
    return { PATH: `${directory}:${PATHS.PATH}`, NOTIFY_SOCKET: '/run/systemd/notify', OPENAI_API_KEY: 'sk-canary' };
  }

  /** Prepares a run of the service: from now on it has the sockets, and it begins with `go`. */
  prepare(sockets: readonly Server[]): Start {
    const child = spawn('/bin/sh', ['-c', AS_SYSTEMD, process.execPath, PROGRAM, 'serve'], {
      cwd: this.place.directory,
      env: { ...PATHS, ...this.environment, LISTEN_FDS: String(sockets.length) },
      stdio: ['pipe', 'ignore', 'pipe', ...sockets.map(descriptorOf)],
    });
    this.#children.push(child);
    return { serving: new ServingProcess(child), go: () => child.stdin?.end('go\n') };
  }
}

function descriptorOf(server: Server): number {
  return (server as unknown as { readonly _handle: { readonly fd: number } })._handle.fd;
}

/** Listening sockets at one address, as a socket unit has them. */
async function socketUnit(count: number): Promise<{ readonly sockets: readonly Server[]; readonly port: number }> {
  const sockets: Server[] = [];
  let port = 0;
  while (sockets.length < count) {
    const socket = createServer().listen({ host: '127.0.0.1', port, reusePort: count > 1 });
    await once(socket, 'listening');
    ({ port } = socket.address() as AddressInfo);
    sockets.push(socket);
  }
  return { sockets, port };
}

/** The status of an answer. */
async function readiness(port: number, secure: SecureOptions | undefined): Promise<number> {
  const connection = await RawConnection.sending(
    port,
    'GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    secure,
  );
  return (await connection.answer()).status;
}

describe('sockets that systemd passes', () => {
  for (const { threads, starts, tls } of [
    { threads: 1, starts: 2 },
    { threads: 2, starts: 1 },
    { threads: 2, starts: 1, tls: TLS },
  ]) {
    const by = tls === undefined ? '' : ', by TLS';
    test(`${threads} of them for as many threads: what is asked before start 1 to ${starts} is answered${by}`, async (t) => {
      const service = new Service(t);
      service.place.write('config.yaml', `threads: ${threads}\n${tls ? `tls: ${JSON.stringify(tls)}\n` : ''}${CONFIG}`);
      const { sockets, port } = await socketUnit(threads);
      const runs = Array.from({ length: starts }, () => service.prepare(sockets));
      // Here they would be accepted and never answered.
      for (const socket of sockets) socket.close();
      for (const { serving, go } of runs) {
        const answers = Array.from({ length: 8 }, () => readiness(port, tls && TRUSTING));
        go();
        await serving.listening();
        for (const answer of answers) assert.equal(await bounded(answer, 'an answer'), 200);
        assert.equal(new URL(serving.url).port, String(port));
        assert.equal(await serving.stop(), 0);
      }
      const told = ['READY=1', 'STOPPING=1'].map((state) => `${state} to /run/systemd/notify, secret <>`);
      await until(() => service.told.length === told.length * starts);
      assert.deepEqual(new Set(service.told), new Set(told));
    });
  }

  test('must be one for each thread, or the start fails', async (t) => {
    const service = new Service(t);
    service.place.write('config.yaml', `threads: 2\n${CONFIG}`);
    const { sockets } = await socketUnit(1);
    const { serving, go } = service.prepare(sockets);
    for (const socket of sockets) socket.close();
    go();
    assert.equal((await serving.ended).status, 1);
    assert.match(serving.text, /^error: systemd passed 1 socket, and `threads: 2` needs 2: .*ListenStream=/m);
  });
});

test('a process that takes over becomes the service before the one that ends has ended', async (t) => {
  const service = new Service(t);
  Object.assign(service.place.environment, service.environment);
  const before = await service.place.serve();
  const after = await service.place.serve([PROGRAM, 'serve', '--takeover']);
  assert.equal((await bounded(before.ended, 'the first one has ended')).status, 0);
  await until(() => service.told.length >= 3);
  const states = service.told.map((line) => line.replace(/ to .*/, ''));
  assert.deepEqual(states.toSorted(), [`MAINPID=${after.pid}`, `MAINPID=${after.pid} READY=1`, 'READY=1']);
  assert.equal((await fetch(`${after.url}/readyz`)).status, 200);
  assert.equal(await after.stop(), 0);
});

describe('the variables of a socket unit', () => {
  test('are not taken by another process than they name, and not twice', () => {
    for (const LISTEN_PID of ['8', '', 'x']) assert.deepEqual(takeSockets({ LISTEN_PID, LISTEN_FDS: '1' }, 7), []);
    assert.deepEqual(takeSockets({ LISTEN_FDS: '1' }, 7), []);
    assert.deepEqual(takeSockets({ LISTEN_PID: '7' }, 7), []);
    const environment = { LISTEN_PID: '8', LISTEN_FDS: '1', LISTEN_FDNAMES: 'http', HOME: '/' };
    takeSockets(environment, 7);
    assert.deepEqual(environment, { HOME: '/' });
  });

  for (const LISTEN_FDS of ['0', '-1', '1.5', 'one', '9999999']) {
    test(`must be a number of sockets, not ${LISTEN_FDS}`, () => {
      assert.throws(() => takeSockets({ LISTEN_PID: '7', LISTEN_FDS }, 7), UserError);
    });
  }

  test('must name sockets', () => {
    // More than are open.
    assert.throws(() => takeSockets({ LISTEN_PID: '7', LISTEN_FDS: '1000' }, 7), /file descriptor \d+ is not a socket/);
  });
});

describe('a notification', () => {
  const errors: string[] = [];
  const log = { error: (message: string) => errors.push(message) } as unknown as Log;

  test('says who is the service from now on', async (t) => {
    const service = new Service(t);
    await notify({ ready: true, mainPid: 4711 }, log, service.environment);
    assert.deepEqual(service.told, ['MAINPID=4711 READY=1 to /run/systemd/notify, secret <>']);
  });

  test('that fails is a line in the log', async (t) => {
    const { place, environment } = new Service(t);
    await notify({ ready: true }, log, { ...environment, PATH: join(place.directory, 'nowhere') });
    place.write('systemd-notify', '#!/bin/sh\necho "Failed to notify init system" >&2; exit 1\n');
    await notify({ stopping: true }, log, environment);
    assert.deepEqual(errors, [
      'cannot tell systemd READY=1: there is no program systemd-notify; install it, or set Type=exec in the unit',
      'cannot tell systemd STOPPING=1: Failed to notify init system',
    ]);
  });

  test('is not sent where systemd has not asked for it', async (t) => {
    const service = new Service(t);
    const { NOTIFY_SOCKET: _, ...environment } = service.environment;
    await notify({ ready: true }, log, environment);
    assert.deepEqual(service.told, []);
  });
});
