/** A dashboard session: feeds events to the model and carries out the effects that come back. */
import { writeFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { followGateway, reloadConfig, stopRequest } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { usageCsv } from '../operator/export.ts';
import { CONFIG_RELOADED } from '../operator/messages.ts';
import { firstModel, type Model } from './model.ts';
import { snapshotQuery } from './select.ts';
import { Store } from './store.ts';
import type { Effect, Event } from './update/step.ts';
import { update } from './update/update.ts';

/** Between two reads of the state file, and between two attempts to reach a gateway. */
const REFRESH_MS = 1_000;
/** From this many keys on a read takes some 30 ms, so the file is read less often. */
const MANY_KEYS = 2_000;
const REFRESH_MANY_MS = 5_000;

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /** Copies a text to the clipboard of the terminal. */
  copy(text: string): void;
}

export class Session {
  readonly ended: Promise<void>;
  readonly #readConfig: () => Config;
  #config: Config;
  readonly #store: Store;
  readonly #terminal: Terminal;
  readonly #socketPath: string;
  readonly #listeners = new Set<() => void>();
  readonly #end: () => void;
  #model: Model;
  #feed: { close(): void } | undefined;
  #followed = '';
  #timer: NodeJS.Timeout;
  #readAtMs = 0;

  /** Throws a UserError if the state file cannot be opened. */
  constructor(readConfig: () => Config, terminal: Terminal) {
    const config = readConfig();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
    this.#readConfig = readConfig;
    this.#config = config;
    this.#terminal = terminal;
    this.#socketPath = socketPathOf(config.statePath);
    this.#store = new Store(config);
    const nowMs = Date.now();
    this.#model = firstModel(this.#store.read(nowMs), terminal, nowMs);
    if (this.#store.created) {
      this.dispatch({ kind: 'outcome', text: `created the state file ${config.statePath}`, tone: 'good' });
    }
    this.#follow();
    this.#timer = setInterval(() => this.#refresh(), REFRESH_MS);
  }

  get model(): Model {
    return this.#model;
  }

  /** Calls the listener after each change of the model. Returns a function that unsubscribes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispatch(event: Event): void {
    const { model, effects } = update(this.#model, event);
    const isOtherView = model.view !== this.#model.view;
    this.#model = model;
    for (const effect of effects) this.#perform(effect);
    if (isOtherView) this.#follow();
    for (const listener of this.#listeners) listener();
  }

  /** Ends the session, whatever is on the screen. */
  end(): void {
    this.#end();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#feed?.close();
    this.#store.close();
  }

  #refresh(): void {
    const nowMs = Date.now();
    const everyMs = this.#model.stored.keys.length > MANY_KEYS ? REFRESH_MANY_MS : REFRESH_MS;
    const isOtherMonth = utcMonth(nowMs) !== utcMonth(this.#readAtMs);
    if (nowMs - this.#readAtMs >= everyMs && (this.#store.hasChanged() || isOtherMonth)) this.#read();
    if (this.#model.snapshot === undefined) this.dispatch({ kind: 'tick', nowMs });
    const { detail } = this.#model.keys;
    if (this.#model.view === 'keys' && detail !== undefined) this.#perform({ kind: 'load_key', keyId: detail.keyId });
    this.#follow();
  }

  #read(): void {
    this.#readAtMs = Date.now();
    this.#tryRead(() => this.dispatch({ kind: 'stored', stored: this.#store.read(this.#readAtMs) }));
  }

  /** Subscribes to what the screen shows, if a gateway is running. */
  #follow(): void {
    const query = snapshotQuery(this.#model);
    const followed = JSON.stringify(query);
    if (this.#feed !== undefined && followed === this.#followed) return;
    this.#feed?.close();
    this.#feed = undefined;
    this.#followed = followed;
    try {
      this.#feed = followGateway(this.#socketPath, query, {
        onSnapshot: (snapshot) => this.dispatch({ kind: 'snapshot', snapshot }),
        onEnd: () => {
          this.#feed = undefined;
          const { snapshot, socketError } = this.#model;
          if (snapshot !== undefined || socketError !== undefined) this.dispatch({ kind: 'disconnected' });
        },
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      // A socket that belongs to another user may be gone a moment later.
      if (this.#model.socketError !== error.message) {
        this.dispatch({ kind: 'disconnected', socketError: error.message });
      }
    }
  }

  #perform(effect: Effect): void {
    const nowMs = Date.now();
    switch (effect.kind) {
      case 'quit':
        return this.#end();
      case 'copy':
        return this.#terminal.copy(effect.text);
      case 'load_key':
        return this.#tryRead(() =>
          this.dispatch({ kind: 'key_detail', detail: this.#store.detail(effect.keyId, nowMs) }),
        );
      case 'load_usage':
        return this.#tryRead(() =>
          this.dispatch({ kind: 'usage', rows: this.#store.usage(effect.by, effect.range, nowMs) }),
        );
      case 'export':
        return this.#export(effect.path);
      case 'reload':
        void this.#ask(() => this.#reload());
        return;
      case 'act':
        if (effect.action.kind === 'stop_request') {
          const { id } = effect.action;
          void this.#ask(async () => ((await stopRequest(this.#socketPath, id)) ? `Stopped ${id}.` : undefined));
          return;
        }
        this.dispatch(this.#store.run(effect.action, nowMs));
        return this.#read();
    }
  }

  /** Reloads the config in the gateway and here. */
  async #reload(): Promise<string> {
    const isServing = await reloadConfig(this.#socketPath);
    this.#config = this.#readConfig();
    this.#store.configure(this.#config);
    this.#read();
    return isServing ? CONFIG_RELOADED : 'Config reloaded. No gateway is running.';
  }

  #export(path: string): void {
    const { rows, by } = this.#model.usage;
    try {
      // Never overwrites a file.
      writeFileSync(path, usageCsv(rows, by), { flag: 'wx' });
      this.dispatch({ kind: 'outcome', text: `Wrote ${path}.`, tone: 'good' });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const why = code === 'EEXIST' ? 'the file already exists; choose another name' : `cannot be written (${code})`;
      this.dispatch({ kind: 'outcome', text: `${path}: ${why}`, tone: 'bad' });
    }
  }

  /** Shows what the gateway answered. `ask` returns undefined if there was nothing to act on. */
  async #ask(ask: () => Promise<string | undefined>): Promise<void> {
    try {
      const text = await ask();
      this.dispatch(
        text === undefined
          ? { kind: 'outcome', text: 'No gateway is running, or the request has already ended.', tone: 'warn' }
          : { kind: 'outcome', text, tone: 'good' },
      );
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.dispatch({ kind: 'outcome', text: error.lines.join(' · '), tone: 'bad' });
    }
  }

  /** Reads from the state file. One that cannot be read now may be readable a moment later. */
  #tryRead(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.dispatch({ kind: 'outcome', text: `${this.#config.statePath}: ${(error as Error).message}`, tone: 'bad' });
    }
  }
}
