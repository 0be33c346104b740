/**
 * The other writers of the state file: a process that is killed like the gateway, and the command
 * line.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { formatUsd } from '../../src/core/money.ts';
import type { Workplace } from '../support/cli.ts';

const SCRIPT = fileURLToPath(new URL('./top-up.ts', import.meta.url));

export class TopUps {
  /** The notes of all entries that have returned. Each ends in the amount, in nanodollars. */
  readonly returned: string[] = [];
  readonly #place: Workplace;
  #process: { child: ChildProcess; closed: Promise<unknown> } | undefined;
  #started = 0;

  constructor(place: Workplace) {
    this.#place = place;
  }

  /** Starts the process if it does not run. */
  start(): void {
    if (this.#process !== undefined) return;
    const words = [SCRIPT, this.#place.statePath, `process-${++this.#started}`];
    const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: child.stdout }).on('line', (note) => this.returned.push(note));
    this.#process = { child, closed: once(child, 'close') };
  }

  /**
   * Kills the process and reads what it printed to its end. Throws if the process had ended before.
   */
  async kill(): Promise<void> {
    if (this.#process === undefined) return;
    const { child, closed } = this.#process;
    this.#process = undefined;
    child.kill('SIGKILL');
    await closed;
    if (child.signalCode !== 'SIGKILL') throw new Error(`the top-ups have ended with status ${child.exitCode}`);
  }

  /** Adds credit with the command, whether or not a gateway runs. */
  async byCommand(): Promise<void> {
    const nanos = ++this.#started;
    const note = `command-${nanos}`;
    const { status, stderr } = await this.#place.run(['credit', 'add', formatUsd(BigInt(nanos)), '--note', note]);
    if (status !== 0) throw new Error(`credit add: ${stderr}`);
    this.returned.push(note);
  }
}
