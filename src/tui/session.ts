/** A session at the screen: takes in what happens, keeps the model, and does what it asks for. */
import { writeFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { followGateway, reloadConfig, stopRequest } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { usageCsv } from '../operator/export.ts';
import { firstModel, type Model } from './model.ts';
import { snapshotQuery } from './select.ts';
import { Store } from './store.ts';
import type { Effect, Event } from './update/step.ts';
import { update } from './update/update.ts';

/** Between two reads of the state file, and between two tries to reach a gateway. */
const REFRESH_MS = 1_000;
/** With so many keys a read takes some 30 ms, so that it is done less often. */
const MANY_KEYS = 2_000;
const REFRESH_MANY_MS = 5_000;

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /** Puts a text into the clipboard of the terminal. */
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

  /** Throws a UserError where the state file cannot be used. */
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

  /** Told after each change of the model. Returns how to be told no more. */
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

  /** Ends it, whatever is on the screen. */
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
    if (nowMs - this.#readAtMs >= everyMs && (this.#store.hasNews() || isOtherMonth)) this.#read();
    if (this.#model.snapshot === undefined) this.dispatch({ kind: 'tick', nowMs });
    const { detail } = this.#model.keys;
    if (this.#model.view === 'keys' && detail !== undefined) this.#perform({ kind: 'load_key', keyId: detail.keyId });
    this.#follow();
  }

  #read(): void {
    this.#readAtMs = Date.now();
    this.#guarded(() => this.dispatch({ kind: 'stored', stored: this.#store.read(this.#readAtMs) }));
  }

  /** Follows the gateway, if there is one, with what is to be seen. */
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
          const { snapshot, refused } = this.#model;
          if (snapshot !== undefined || refused !== undefined) this.dispatch({ kind: 'disconnected' });
        },
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      // Somebody else's socket may be gone a moment later.
      if (this.#model.refused !== error.message) this.dispatch({ kind: 'disconnected', refused: error.message });
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
        return this.#guarded(() =>
          this.dispatch({ kind: 'key_detail', detail: this.#store.detail(effect.keyId, nowMs) }),
        );
      case 'load_usage':
        return this.#guarded(() =>
          this.dispatch({ kind: 'usage', rows: this.#store.usage(effect.by, effect.range, nowMs) }),
        );
      case 'export':
        return this.#export(effect.path);
      case 'reload':
        void this.#asked(() => this.#reload());
        return;
      case 'act':
        if (effect.action.kind === 'stop_request') {
          const { id } = effect.action;
          void this.#asked(async () => ((await stopRequest(this.#socketPath, id)) ? `${id} is stopped.` : undefined));
          return;
        }
        this.dispatch(this.#store.run(effect.action, nowMs));
        return this.#read();
    }
  }

  /** The screen goes by the new config as the gateway does. */
  async #reload(): Promise<string> {
    const isServing = await reloadConfig(this.#socketPath);
    this.#config = this.#readConfig();
    this.#store.configure(this.#config);
    this.#read();
    return isServing ? 'The gateway serves by the config as it is now.' : 'The config was read anew; no gateway runs.';
  }

  #export(path: string): void {
    const { rows, by } = this.#model.usage;
    try {
      // Never over a file that is there.
      writeFileSync(path, usageCsv(rows, by), { flag: 'wx' });
      this.dispatch({ kind: 'outcome', text: `Written: ${path}`, tone: 'good' });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const why = code === 'EEXIST' ? 'there is such a file already; take another name' : `cannot be written (${code})`;
      this.dispatch({ kind: 'outcome', text: `${path}: ${why}`, tone: 'bad' });
    }
  }

  /** What the running gateway is asked for. Undefined where it did not take it. */
  async #asked(ask: () => Promise<string | undefined>): Promise<void> {
    try {
      const text = await ask();
      this.dispatch(
        text === undefined
          ? { kind: 'outcome', text: 'No gateway runs, or the request has ended.', tone: 'warn' }
          : { kind: 'outcome', text, tone: 'good' },
      );
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.dispatch({ kind: 'outcome', text: error.lines.join(' · '), tone: 'bad' });
    }
  }

  /** A file that cannot be read now may be read a moment later. */
  #guarded(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.dispatch({ kind: 'outcome', text: `${this.#config.statePath}: ${(error as Error).message}`, tone: 'bad' });
    }
  }
}
