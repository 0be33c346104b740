/** A state file for tests of the operator's side. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { audit } from '../../src/audit/audit.ts';
import type { HoldRow } from '../../src/state/journal.ts';
import { openState } from '../../src/state/open.ts';
import { immediately, openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { Journal } from '../../src/state/sqlite/journal.ts';
import { RefusalWriter } from '../../src/state/sqlite/refusals.ts';
import { dropOldRows } from '../../src/state/sqlite/retention.ts';
import type { OpenState } from '../../src/state/state.ts';
import type { RefusalCount } from '../../src/state/usage.ts';
import { assertBooksBalance } from '../support/books.ts';
import type { Cleanup, End, Stage } from './stage.ts';

export class FileStage implements Stage {
  readonly state: OpenState;
  readonly #test: Cleanup;
  readonly #path: string;
  readonly #database: Sqlite;
  readonly #journal: Journal;
  #held: HoldRow[] = [];

  static async open(test: Cleanup): Promise<FileStage> {
    const directory = mkdtempSync(join(tmpdir(), 'inf-gw-state-'));
    test.after(() => rmSync(directory, { recursive: true }));
    const path = join(directory, 'state.db');
    return new FileStage(test, path, await openAt(test, path));
  }

  private constructor(test: Cleanup, path: string, state: OpenState) {
    this.#test = test;
    this.#path = path;
    this.state = state;
    this.#database = openDatabase(path, 'crash').database;
    test.after(() => void this.#database.close());
    this.#journal = new Journal(this.#database);
  }

  open(): Promise<OpenState> {
    return openAt(this.#test, this.#path);
  }

  async hold(hold: HoldRow): Promise<void> {
    this.#held.push(hold);
    immediately(this.#database, () => {
      this.#journal.hold(hold);
      this.#journal.writeHolds(this.#held.length, () => this.#held);
    });
  }

  async settle(hold: HoldRow, end: End, wallMs: number): Promise<void> {
    this.#held = this.#held.filter(({ requestId }) => requestId !== hold.requestId);
    immediately(this.#database, () => {
      this.#journal.settle(hold, end, wallMs);
      this.#journal.writeCharges();
    });
  }

  async refuse(refusals: readonly RefusalCount[]): Promise<void> {
    immediately(this.#database, () => new RefusalWriter(this.#database).write(refusals));
  }

  async dropOldRows(beforeMs: number): Promise<void> {
    while (dropOldRows(this.#database, beforeMs));
  }

  async write(statement: string): Promise<void> {
    this.#database.exec(statement.replaceAll(/\{(\w+)\}/g, '$1'));
  }

  async dump(): Promise<Readonly<Record<string, readonly unknown[]>>> {
    const names = this.#database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
      .pluck()
      .all();
    const rowsOf = (name: unknown) =>
      this.#database.prepare(`SELECT * FROM ${name} ORDER BY 1, 2`).safeIntegers().all();
    return Object.fromEntries(names.map((name) => [name, rowsOf(name)]));
  }

  async assertSound(): Promise<void> {
    assertBooksBalance(this.#database);
    const checks = audit(this.#path, { onProgress: () => {} });
    assert.deepEqual(
      checks.flatMap(({ differences }) => differences),
      [],
    );
  }
}

async function openAt(test: Cleanup, path: string): Promise<OpenState> {
  const state = await openState({ kind: 'file', path }, 'crash');
  test.after(() => state.close());
  return state;
}
