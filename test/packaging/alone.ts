/** A program in a folder of its own, run without an environment, and by a user without a home where it needs nothing else. */
import assert from 'node:assert/strict';
import { type SpawnOptions, spawn } from 'node:child_process';
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CONFIG, type Result } from '../support/cli.ts';
import type { Scope } from '../support/run-scope.ts';
import { type Serving, ServingProcess } from '../support/serving.ts';
import { bounded } from '../support/wait.ts';

/** `nobody` on most systems. Only root can become another user. */
const UID = 65_534;
const nobody = process.getuid?.() === 0 ? { uid: UID, gid: UID } : undefined;

/** Not in the folder of the tests: containers allow no program to run from memory. */
export function emptyFolder(scope: Scope): string {
  const folder = mkdtempSync('/tmp/inf-gw-packaging-');
  scope.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export class Alone {
  readonly folder: string;
  readonly words: readonly string[];
  /** All that the program knows of its surroundings: where it puts temporary files, so that none stay behind. */
  readonly env: Readonly<Record<string, string>>;
  /** Undefined: the user of the tests. */
  readonly #owner: typeof nobody;
  readonly #servings: Serving[] = [];

  /** `words`: how to run the program. */
  constructor(
    scope: Scope,
    folder: string,
    words: readonly string[],
    { config = CONFIG, owner = undefined as typeof nobody } = {},
  ) {
    this.folder = folder;
    this.#owner = owner;
    this.words = words;
    this.env = { TMPDIR: folder };
    writeFileSync(join(folder, 'config.yaml'), config);
    this.#give(folder);
    scope.after(async () => {
      for (const serving of this.#servings) serving.signal('SIGKILL');
      await Promise.all(this.#servings.map(({ ended }) => ended));
    });
  }

  /** With nothing but a copy of this file. */
  static of(scope: Scope, file: string, config = CONFIG): Alone {
    const folder = emptyFolder(scope);
    const copy = join(folder, basename(file));
    copyFileSync(file, copy);
    return new Alone(scope, folder, [copy], { config, owner: nobody });
  }

  /** The same program as a line of a shell, for a terminal. */
  get shellLine(): string {
    const user = this.#owner !== undefined ? `setpriv --reuid=${UID} --regid=${UID} --clear-groups ` : '';
    const variables = Object.entries(this.env).map(([name, value]) => `${name}=${value}`);
    return `cd ${this.folder} && ${user}env -i TERM=$TERM ${variables.join(' ')} ${this.words.join(' ')}`;
  }

  /** Where the executable unpacks into, for a user without a home. */
  get cacheName(): string {
    return `inf-gw-${this.#owner?.uid ?? process.getuid?.()}`;
  }

  /** A folder that is the user's own. */
  makeFolder(path: string): string {
    mkdirSync(path, { mode: 0o700 });
    this.#give(path);
    return path;
  }

  async run(...words: string[]): Promise<Result> {
    const child = this.#spawn(words, ['ignore', 'pipe', 'pipe']);
    const status = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [stdout = '', stderr = ''] = await Promise.all(
      [child.stdout, child.stderr].map((stream) => (stream === null ? '' : text(stream))),
    );
    return { status: await bounded(status, words.join(' ')), stdout, stderr };
  }

  /** Runs a command with `--json`, which must succeed. Returns the document that it printed. */
  async json<Document>(...words: string[]): Promise<Document> {
    const { status, stdout, stderr } = await this.run(...words, '--json');
    assert.equal(status, 0, `${words.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Document;
  }

  /** Starts `serve`, and waits until it listens. */
  serve(...options: string[]): Promise<Serving> {
    const serving = new ServingProcess(this.#spawn(['serve', ...options], ['ignore', 'ignore', 'pipe']));
    this.#servings.push(serving);
    return serving.listening();
  }

  #give(path: string): void {
    if (this.#owner !== undefined) chownSync(path, this.#owner.uid, this.#owner.gid);
  }

  #spawn(words: readonly string[], stdio: NonNullable<SpawnOptions['stdio']>) {
    const [program = '', ...first] = this.words;
    return spawn(program, [...first, ...words], { cwd: this.folder, env: this.env, stdio, ...this.#owner });
  }
}
