/** A dashboard session: feeds events to the model and carries out the resulting effects. */
import { writeFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { followGateway, readRefusals, readRefusedMinutes, reloadConfig, stopRequest } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { UserError } from '../core/errors.ts';
import { usageCsv } from '../operator/export.ts';
import { MINUTE_MS } from '../operator/forecast.ts';
import { CONFIG_RELOADED } from '../operator/messages.ts';
import type { Action, AnyAction } from './actions.ts';
import { startAudit } from './audit-run.ts';
import { screenSvg } from './draw/svg.ts';
import { HistoryTurns } from './history-turns.ts';
import { followedOwners } from './lists/groups.ts';
import { localTime } from './local-time.ts';
import { type FoundPage, firstModel, type Model } from './model.ts';
import { pictureOf } from './picture.ts';
import { isSamePlot, plotQuery } from './plot-query.ts';
import { sharedQuery, snapshotQuery } from './queries.ts';
import { detailEveryMs, REFRESH_MS, requestsEveryMs, stateEveryMs, usageEveryMs, usersEveryMs } from './refresh.ts';
import { withRefused } from './refused.ts';
import { ownerById } from './select.ts';
import { Store, toldOf } from './store.ts';
import { Turns } from './turns.ts';
import { refreshed } from './update/requests.ts';
import { type Effect, type Event, isInput, type LoadRequests } from './update/step.ts';
import { update } from './update/update.ts';

/** Maximum key presses and pastes kept while a change is in progress. */
const MAX_HELD_INPUTS = 200;

/** Interval at which a plot is read again, since its last hour or day grows. */
const PLOT_EVERY_MS = 30_000;

interface SessionOptions {
  /** Refuses changes to the state and commands to gateways. */
  readonly isReadOnly?: boolean;
  /** The `--config` of the command, which displayed command lines repeat. */
  readonly configOption?: string | undefined;
}

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  copy(text: string): void;
}

interface Parts {
  readonly readConfig: () => Config;
  readonly config: Config;
  readonly store: Store;
  readonly terminal: Terminal;
  readonly model: Model;
}

export class Session {
  readonly ended: Promise<void>;
  readonly #readConfig: () => Config;
  readonly #store: Store;
  readonly #terminal: Terminal;
  readonly #socketPath: string;
  readonly #listeners = new Set<() => void>();
  readonly #end: () => void;
  readonly #turns = new Turns();
  readonly #heldInputs: Event[] = [];
  #isActing = false;
  #model: Model;
  #feed: { close(): void } | undefined;
  #followed = '';
  #audit: { stop(): void } | undefined;
  #timer: NodeJS.Timeout;
  /** Time of each last read, on the monotonic clock. */
  readonly #readAt = {
    state: Number.NEGATIVE_INFINITY,
    detail: Number.NEGATIVE_INFINITY,
    usage: Number.NEGATIVE_INFINITY,
    users: Number.NEGATIVE_INFINITY,
    requests: Number.NEGATIVE_INFINITY,
    plot: Number.NEGATIVE_INFINITY,
  };
  /** Minute of the last read, since 1970. Budgets reset as time passes, so the state is read again each minute. */
  #minuteRead = 0;
  readonly #history: HistoryTurns;
  /** Whether the last read failed, so that the data may be old. */
  #isStale = false;

  /** Rejects with a UserError if the state cannot be opened or read. */
  static async open(
    readConfig: () => Config,
    terminal: Terminal,
    { isReadOnly = false, configOption }: SessionOptions = {},
  ): Promise<Session> {
    const config = readConfig();
    const store = await Store.open(config, isReadOnly);
    try {
      const nowMs = Date.now();
      const first = firstModel(await store.read(nowMs), terminal, nowMs);
      const shared = await store.shared(sharedQuery(first));
      const model = { ...first, isReadOnly: store.isReadOnly, configOption, shared };
      return new Session({ readConfig, config, store, terminal, model });
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  constructor({ readConfig, config, store, terminal, model }: Parts) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
    this.#readConfig = readConfig;
    this.#terminal = terminal;
    this.#socketPath = socketPathOf(config);
    this.#store = store;
    this.#model = model;
    this.#history = new HistoryTurns(store, this.#turns, {
      attempt: (read) => this.#tryRead(read),
      onRows: (rows) => this.dispatch({ kind: 'history', rows }),
    });
    if (store.opening !== undefined) this.dispatch(store.opening);
    this.#follow();
    this.#timer = setInterval(() => this.#refresh(), REFRESH_MS);
  }

  get model(): Model {
    return this.#model;
  }

  /** Calls the listener after each change of the model. Returns an unsubscribe function. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Handles an event. Input waits while a change is in progress: it must not dismiss the result, which may be a new
   * key.
   */
  dispatch(event: Event): void {
    if (!this.#isActing || !isInput(event)) this.#take(event);
    else if (this.#heldInputs.length < MAX_HELD_INPUTS) this.#heldInputs.push(event);
  }

  #take(event: Event): void {
    const { model, effects } = update(this.#model, event);
    const isOtherView = model.view !== this.#model.view;
    this.#model = model;
    for (const effect of effects) this.#perform(effect);
    if (isOtherView) this.#showView();
    for (const listener of this.#listeners) listener();
  }

  /** Ends the session, even with an open dialog. */
  end(): void {
    this.#end();
  }

  /** Closes the session after waiting for a change in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#feed?.close();
    this.#audit?.stop();
    this.#history.stop();
    await this.#turns.end();
    await this.#store.close();
  }

  /** Reads the plot of the row under the cursor if the shown one is of another row, or is old. */
  #plot(): void {
    const query = plotQuery(this.#model);
    if (query === undefined) return;
    const isShown = isSamePlot(query, this.#model.plot?.of);
    if (isShown && !this.#isDue('plot', PLOT_EVERY_MS)) return;
    this.#turns.add('plot', async () => {
      this.#readAt.plot = performance.now();
      await this.#tryRead(async () => {
        const plot = await this.#store.plot(query, Date.now());
        if (isSamePlot(query, plotQuery(this.#model))) this.dispatch({ kind: 'plot', plot });
      });
    });
  }

  /** Requests the data of the newly opened view. */
  #showView(): void {
    this.#follow();
    if (this.#model.shared !== undefined) this.#turns.add('shared', () => this.#readShared());
  }

  #refresh(): void {
    this.#turns.add('check', () => this.#readIfChanged());
    if (this.#model.shared !== undefined) this.#turns.add('shared', () => this.#readShared());
    if (this.#model.snapshot === undefined) this.dispatch({ kind: 'tick', nowMs: Date.now() });
    if (this.#isDue('usage', usageEveryMs(this.#model))) {
      const { by, range, of } = this.#model.usage;
      this.#perform({ kind: 'load_usage', by, range, of });
    }
    if (this.#isDue('users', usersEveryMs(this.#model))) this.#turns.add('users', () => this.#readUsers());
    if (this.#isDue('requests', requestsEveryMs(this.#model)))
      for (const effect of refreshed(this.#model).effects) this.#perform(effect);
    const { detail } = this.#model.keys;
    if (detail !== undefined && this.#isDue('detail', detailEveryMs(this.#model)))
      this.#perform({ kind: 'load_key', keyId: detail.keyId });
    this.#plot();
    this.#follow();
  }

  #isDue(what: 'state' | 'detail' | 'usage' | 'users' | 'requests' | 'plot', everyMs: number): boolean {
    return performance.now() - this.#readAt[what] > everyMs;
  }

  async #readIfChanged(): Promise<void> {
    if (!this.#isDue('state', stateEveryMs(this.#model))) return;
    const isOtherMinute = minuteOf(Date.now()) !== this.#minuteRead;
    await this.#tryRead(async () => {
      if ((await this.#store.hasChanged()) || isOtherMinute || this.#isStale) await this.#read();
    });
  }

  async #read(): Promise<void> {
    const nowMs = Date.now();
    this.#readAt.state = performance.now();
    this.#minuteRead = minuteOf(nowMs);
    this.#isStale = true;
    await this.#tryRead(async () => {
      const stored = await this.#store.read(nowMs);
      this.#isStale = false;
      this.dispatch({ kind: 'stored', stored });
    });
  }

  async #readShared(): Promise<void> {
    const known = this.#model.shared;
    let shared = known && { ...known, isStale: true };
    await this.#tryRead(async () => {
      shared = await this.#store.shared(sharedQuery(this.#model));
    });
    this.dispatch({ kind: 'shared', shared });
  }

  async #readKey(keyId: string): Promise<void> {
    this.#readAt.detail = performance.now();
    await this.#tryRead(async () => {
      const stored = await this.#store.detail(keyId, Date.now());
      const refusedLately = (await this.#asked(() => readRefusedMinutes(this.#socketPath, keyId))) ?? [];
      this.dispatch({ kind: 'key_detail', detail: { ...stored, refusedLately } });
    });
  }

  /** Reads the visible and the requested end users. */
  async #readUsers(): Promise<void> {
    this.#readAt.users = performance.now();
    const shown = this.#model.groups.users;
    const unread = [...shown].filter(([, { users }]) => users === undefined).map(([ownerId]) => ownerId);
    for (const ownerId of new Set([...unread, ...followedOwners(this.#model)])) {
      const owner = ownerById(this.#model, ownerId);
      const after = this.#model.groups.users.get(ownerId)?.starts.at(-1);
      if (owner === undefined || after === undefined) continue;
      await this.#tryRead(async () => {
        const page = await this.#store.users(owner, after, Date.now());
        this.dispatch({ kind: 'users', ownerId, after, ...page });
      });
    }
  }

  /** Returns the gateway's answer; undefined if none arrives. The status line shows that the gateway is gone. */
  async #asked<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
    return this.#model.snapshot === undefined ? undefined : ask().catch(() => undefined);
  }

  async #readUsage({ by, range, of }: Extract<Effect, { kind: 'load_usage' }>): Promise<void> {
    this.#readAt.usage = performance.now();
    await this.#tryRead(async () => {
      const nowMs = Date.now();
      const rows = await this.#store.usage(by, range, of, nowMs);
      const show = () =>
        this.dispatch({ kind: 'usage', rows: this.#store.withHistory(rows, { by, range, of }, nowMs) });
      // The user may have chosen another grouping, range or filter since.
      const isAsked = () => {
        const { usage } = this.#model;
        return usage.by === by && usage.range === range && usage.of === of;
      };
      if (isAsked()) show();
      const isWatched = () => this.#model.view === 'usage' && isAsked();
      await this.#store.readHistory(rows, { by, range, of }, nowMs, isWatched);
      if (isWatched()) show();
    });
  }

  async #readRequests({ search, query, after }: LoadRequests): Promise<void> {
    if (after === undefined) this.#readAt.requests = performance.now();
    let page: FoundPage | undefined;
    await this.#tryRead(async () => {
      const ended = await this.#store.requests(query, after);
      page = await withRefused(ended, query, after, (refusals) =>
        this.#asked(() => readRefusals(this.#socketPath, refusals)),
      );
    });
    this.dispatch({ kind: 'requests', search, after, page });
  }

  /**
   * Makes a change, then handles the held input. If the change opened a dialog, the input is dropped, since the user
   * has not seen that dialog.
   */
  async #act(action: Exclude<Action, { kind: 'stop_request' }>, undoes: number | undefined): Promise<void> {
    const atMs = Date.now();
    this.dispatch({ kind: 'done', action, undoes, atMs, ...(await this.#store.run(action, atMs)) });
    await this.#read();
    if (this.#model.view === 'groups') await this.#readUsers();
    this.#isActing = false;
    if (this.#model.dialog !== undefined) this.#heldInputs.length = 0;
    while (!this.#isActing && this.#heldInputs.length > 0) this.dispatch(this.#heldInputs.shift() as Event);
  }

  /** Subscribes to the visible data if a gateway is running. */
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
          const { snapshot, isConnecting, socketError } = this.#model;
          if (snapshot !== undefined || isConnecting || socketError !== undefined)
            this.dispatch({ kind: 'disconnected' });
        },
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      // Another user's socket may disappear a moment later, so only a new error is reported.
      if (this.#model.socketError !== error.message) {
        this.dispatch({ kind: 'disconnected', socketError: error.message });
      }
    }
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case 'quit':
        return this.#end();
      case 'copy':
        return this.#terminal.copy(effect.text);
      case 'load_key':
        return this.#turns.add('key', () => this.#readKey(effect.keyId));
      case 'load_users':
        return this.#turns.add('users', () => this.#readUsers());
      case 'load_usage':
        return this.#turns.add('usage', () => this.#readUsage(effect));
      case 'load_requests':
        return this.#turns.add('requests', () => this.#readRequests(effect));
      case 'load_history':
        return this.#history.begin(effect.span);
      case 'export':
        return this.dispatch(exportUsage(effect.path, this.#model.usage));
      case 'picture':
        return this.dispatch(writePicture(this.#model));
      case 'reload':
        return this.#ask({ kind: 'reload' }, 'The config was not reloaded.', () => this.#reload());
      case 'audit':
        this.#audit = startAudit(this.#model.configOption, (told) => this.dispatch(told));
        return;
      case 'stop_audit':
        return this.#audit?.stop();
      case 'load_credit':
        return this.#turns.add('credit', () =>
          this.#tryRead(async () => this.dispatch({ kind: 'credit_history', entries: await this.#store.credit() })),
        );
      case 'act': {
        const { action, undoes } = effect;
        if (action.kind === 'stop_request') {
          const { id } = action;
          return this.#ask(action, `${id} was not stopped.`, async () =>
            (await stopRequest(this.#socketPath, id)) ? `Stopped ${id}.` : undefined,
          );
        }
        this.#isActing = true;
        return this.#turns.add('act', () => this.#act(action, undoes));
      }
    }
  }

  /** Reloads the config in the gateway and here. */
  async #reload(): Promise<string> {
    const isServing = await reloadConfig(this.#socketPath);
    this.#store.configure(this.#readConfig());
    this.#turns.add('read', () => this.#read());
    return isServing ? CONFIG_RELOADED : 'Config reloaded. No gateway is running.';
  }

  #ask(...question: Parameters<typeof answerOf>): void {
    void answerOf(...question).then((answer) => this.dispatch(answer));
  }

  /** Reads from the state and reports a failure. The cause may be temporary, so the session goes on. */
  async #tryRead(read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch (error) {
      const text = error instanceof UserError ? toldOf(error) : `cannot read the state: ${(error as Error).message}`;
      this.dispatch({ kind: 'outcome', text, tone: 'bad' });
    }
  }
}

function minuteOf(wallMs: number): number {
  return Math.floor(wallMs / MINUTE_MS);
}

/**
 * Returns the result of a request to the gateway. `ask` returns undefined if the target is gone. `failure` is the
 * title for errors that it throws.
 */
async function answerOf(action: AnyAction, failure: string, ask: () => Promise<string | undefined>): Promise<Event> {
  try {
    const text = await ask();
    if (text === undefined) {
      return { kind: 'outcome', text: 'No gateway is running, or the request has already ended.', tone: 'warn' };
    }
    const outcome = { kind: 'outcome', text, tone: 'good' } as const;
    return { kind: 'done', action, before: undefined, undoes: undefined, atMs: Date.now(), outcome };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'failed', title: failure, lines: error.lines };
  }
}

/** Writes the rows of the Usage view to a file. */
function exportUsage(path: string, { rows, rowsBy }: Model['usage']): Event {
  // Rows with usage only in the week before are not part of the range.
  const used = rows.filter(({ requests }) => requests > 0);
  return written(path, usageCsv(used, rowsBy));
}

/** Writes the screen to a file in the current folder. */
function writePicture(model: Model): Event {
  const time = localTime(model.nowMs).replaceAll(/[^0-9]/g, '');
  return written(`inf-gw-${model.view}-${time}.svg`, screenSvg(pictureOf(model), model.columns));
}

/** Writes a new file; it never overwrites one. */
function written(path: string, content: string): Event {
  try {
    writeFileSync(path, content, { flag: 'wx' });
    return { kind: 'outcome', text: `Wrote ${path}.`, tone: 'good' };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'the file already exists; choose another name' : `cannot be written (${code})`;
    return { kind: 'outcome', text: `${path}: ${why}`, tone: 'bad' };
  }
}
