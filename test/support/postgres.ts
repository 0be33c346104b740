/** A real PostgreSQL server for tests, on a port of 127.0.0.1 that it chooses. */
import assert from 'node:assert/strict';
import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { atEnd } from './at-end.ts';
import { freePort } from './ports.ts';
import {
  findPrograms,
  GATEWAY_USER,
  giveToServer,
  makeCluster,
  makeServerFolder,
  PASSWORD,
  SERVER_UID,
  SUPERUSER,
} from './postgres-files.ts';
import type { GuardOptions, GuardOrder, GuardReport } from './postgres-guard.ts';
import { bounded } from './wait.ts';

export interface PostgresOptions {
  /** Of the server, by their names in `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Files in its data folder, by name: certificates, or another `pg_hba.conf`. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * Nothing here is lost when the server crashes, only when the machine does: `fsync` is for that.
 * The time zone is one that no other part of a test uses.
 */
const SETTINGS = { fsync: 'off', shared_buffers: '32MB', timezone: 'Asia/Kathmandu' };
/** Another process can take a port between the check and the start of the server. */
const PORT_ATTEMPTS = 5;

let shared: Promise<PostgresServer> | undefined;

export class PostgresServer {
  readonly port: number;
  /** Its folder, with its Unix socket. */
  readonly folder: string;
  readonly #guard: ChildProcess;
  #databases = 0;

  private constructor(guard: ChildProcess, folder: string, port: number) {
    this.#guard = guard;
    this.folder = folder;
    this.port = port;
  }

  /** Starts a server. It ends with `stop`, and with the process of the test however that dies. */
  static async start(options: PostgresOptions = {}): Promise<PostgresServer> {
    for (let attempt = 1; ; attempt++) {
      const server = await PostgresServer.#prepare(options);
      const { isReady, log } = await server.#order('start');
      if (isReady) return server;
      await server.stop();
      assert.ok(/could not bind/.test(log) && attempt < PORT_ATTEMPTS, `PostgreSQL did not start:\n${log}`);
    }
  }

  /** Starts a standby that follows this one, whose connections to it go through `port`. Nobody may work on this one meanwhile. */
  async startStandby(port: number, settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const client = new pg.Client({ connectionString: this.adminUrl() });
    await client.connect();
    try {
      await client.query(`SELECT pg_backup_start('standby', true)`);
      const standby = await PostgresServer.#prepare({
        settings: {
          ...settings,
          primary_conninfo: `host=127.0.0.1 port=${port} user=${SUPERUSER} password='${PASSWORD}' application_name=standby`,
        },
      });
      const data = join(standby.folder, 'data');
      rmSync(data, { recursive: true });
      cpSync(join(this.folder, 'data'), data, { recursive: true, filter: (path) => !path.endsWith('postmaster.pid') });
      const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
      writeFileSync(join(data, 'backup_label'), rows[0]?.labelfile ?? '');
      writeFileSync(join(data, 'standby.signal'), '');
      giveToServer(data);
      await standby.restart();
      return standby;
    } finally {
      await client.end();
    }
  }

  /** The one of all files in this process that need no more than databases of their own. Nobody stops it. */
  static shared(): Promise<PostgresServer> {
    shared ??= PostgresServer.start().then((server) => {
      atEnd(() => server.stop());
      return server;
    });
    return shared;
  }

  static async #prepare({ settings = {}, files = {} }: PostgresOptions): Promise<PostgresServer> {
    const folder = makeServerFolder();
    const { programs, data } = makeFiles(folder);
    for (const [name, text] of Object.entries(files)) {
      const path = join(data, name);
      writeFileSync(path, text, { mode: 0o600 });
      giveToServer(path);
    }
    const port = await freePort();
    const all = { ...SETTINGS, port, listen_addresses: '127.0.0.1', unix_socket_directories: folder, ...settings };
    const guard: GuardOptions = {
      command: join(programs.folder, 'bin/postgres'),
      args: ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      env: programs.env,
      uid: SERVER_UID,
      folder,
    };
    const script = join(import.meta.dirname, 'postgres-guard.ts');
    // In a session of its own, the guard outlives a Ctrl-C for as long as it has something to do.
    const stdio: StdioOptions = ['ignore', 'ignore', 'inherit', 'ipc'];
    const child = fork(script, [JSON.stringify(guard)], { detached: true, execArgv: [], stdio });
    await once(child, 'spawn');
    return new PostgresServer(child, folder, port);
  }

  /** The address of a database for a gateway, which has no rights beyond it. */
  url(database: string): string {
    return this.#url(GATEWAY_USER, database);
  }

  /** The address of a database for the superuser. */
  adminUrl(database = 'postgres'): string {
    return this.#url(SUPERUSER, database);
  }

  /** Makes a database that the user of the gateway owns: empty, or a copy of one to which nobody is connected. Returns its address. */
  async createDatabase(original = 'template1'): Promise<string> {
    const name = `gateway_${++this.#databases}`;
    // Files are copied in half of the time that it takes to log their pages.
    await this.query(`CREATE DATABASE ${name} OWNER ${GATEWAY_USER} TEMPLATE ${original} STRATEGY file_copy`);
    return this.url(name);
  }

  /** Runs a statement as the superuser, on a connection of its own. */
  async query(text: string, database?: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.adminUrl(database) });
    client.on('error', () => {});
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(text);
      return rows;
    } finally {
      await client.end();
    }
  }

  /** Ends the server at once. What it had not written to its log by then is lost. */
  async crash(): Promise<void> {
    await this.#order('crash');
  }

  /** Starts it again on the same port, with the same data. */
  async restart(): Promise<void> {
    const { isReady, log } = await this.#order('start');
    assert.ok(isReady, `PostgreSQL did not start again:\n${log}`);
  }

  /** Ends the server and removes its folder. */
  async stop(): Promise<void> {
    if (this.#guard.exitCode !== null || !this.#guard.connected) return;
    const exit = once(this.#guard, 'exit');
    this.#guard.ref();
    this.#guard.disconnect();
    await bounded(exit, 'PostgreSQL ends');
  }

  /** Resolves when the order has been carried out, or the server has ended instead. */
  async #order(order: GuardOrder): Promise<{ readonly isReady: boolean; readonly log: string }> {
    const report = once(this.#guard, 'message') as Promise<[GuardReport]>;
    // A test that forgets its server still ends.
    this.#guard.ref();
    this.#guard.channel?.ref();
    this.#guard.send(order);
    const [answer] = await bounded(report, `PostgreSQL does as told: ${order}`);
    this.#guard.unref();
    this.#guard.channel?.unref();
    return answer.kind === 'ready' ? { isReady: true, log: '' } : { isReady: false, log: answer.log };
  }

  #url(user: string, database: string): string {
    return `postgres://${user}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}/${database}`;
  }
}

/** What a server needs in its folder. The guard removes it, but there is none yet. */
function makeFiles(folder: string) {
  try {
    const programs = findPrograms(folder);
    return { programs, data: makeCluster(programs, folder) };
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}
