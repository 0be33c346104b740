/** The state file, as the screen reads and changes it: through the same operations as the commands, in short reads. */
import { isDeepStrictEqual } from 'node:util';
import { Catalog, type Model } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { mintKey } from '../core/api-key.ts';
import { DAY_MS, utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { whyNot } from '../operator/input.ts';
import { type KeyChange, limitsInForce } from '../state/keys.ts';
import { type OpenState, openState } from '../state/sqlite/open-state.ts';
import type { UsageGroup, UsageRow } from '../state/usage.ts';
import type { Action, KeyDetail, Range, Stored, StoredKey } from './model.ts';
import type { Event } from './update/step.ts';

const NO_FIGURES = { requests: 0, tokens: 0, costNanos: 0n };
const DETAIL_DAYS = 30;
/** How many keys are read at a time. */
const PAGE_KEYS = 500;

type Done = Extract<Event, { kind: 'outcome' | 'made_key' }>;

export class Store {
  #config: Config;
  readonly #state: OpenState;
  #models: readonly Model[];
  /** The keys as they were read last. */
  #known: readonly StoredKey[] = [];
  #earlier: { readonly month: string; readonly uses: ReadonlyMap<string, number> } | undefined;
  /** Whether the file was made just now. */
  readonly created: boolean;

  /** Throws a UserError where the file cannot be used. */
  constructor(config: Config) {
    this.#state = openState(config.statePath, config.durability);
    this.#config = config;
    this.created = this.#state.created;
    this.#models = new Catalog(config.providers).models;
  }

  /** Shows by another config from now on, of the same state file. */
  configure(config: Config): void {
    this.#config = config;
    this.#models = new Catalog(config.providers).models;
  }

  close(): void {
    this.#state.close();
  }

  /** What the file says. Whatever has not changed is the same object as it was. */
  read(nowMs: number): Stored {
    const config = this.#config;
    const month = utcMonth(nowMs);
    const byModel = this.usage('model', 'this month', nowMs);
    return {
      statePath: config.statePath,
      tierName: config.tierName,
      creditEnforced: config.creditEnforced,
      ...this.#state.account.balance(),
      keys: this.#readKeys(month),
      models: this.#models,
      modelUsage: new Map(byModel.map((row) => [row.model ?? '', row])),
    };
  }

  /** Whether another process has written into the file since this was asked last. */
  hasNews(): boolean {
    return this.#state.hasChanged();
  }

  /** Page by page: with many keys most of what a page brings is known, and goes before the next one comes. */
  #readKeys(month: string): readonly StoredKey[] {
    const figures = this.#state.usage.month(month);
    const lastUses = this.#state.usage.lastUses('in', month);
    const earlierUses = this.#usesBefore(month);
    const read: StoredKey[] = [];
    for (let afterId = ''; ; afterId = read.at(-1)?.record.id ?? '') {
      const page = this.#state.keys.list({ withDeleted: false, afterId, limit: PAGE_KEYS });
      for (const record of page) {
        const { id } = record;
        const limits = limitsInForce(record, this.#config.tier);
        const lastUsedMs = lastUses.get(id) ?? earlierUses.get(id);
        const fresh = { record, limits, month: figures.get(id) ?? NO_FIGURES, lastUsedMs };
        const known = this.#known[read.length];
        read.push(known !== undefined && isDeepStrictEqual(known, fresh) ? known : fresh);
      }
      if (page.length < PAGE_KEYS) break;
    }
    const isSame = read.length === this.#known.length && read.every((key, index) => key === this.#known[index]);
    if (!isSame) this.#known = read;
    return this.#known;
  }

  /** Read once: no request of a month that is over is still to come. */
  #usesBefore(month: string): ReadonlyMap<string, number> {
    if (this.#earlier?.month !== month) this.#earlier = { month, uses: this.#state.usage.lastUses('before', month) };
    return this.#earlier.uses;
  }

  detail(keyId: string, nowMs: number): KeyDetail {
    const ofKey = (by: UsageGroup, sinceMs: number) =>
      this.#state.usage.report({ by, keyId, model: undefined, sinceMs, untilMs: undefined }).rows;
    const firstDay = Math.floor(nowMs / DAY_MS - DETAIL_DAYS + 1) * DAY_MS;
    const byDay = new Map(ofKey('day', firstDay).map((row) => [row.day, row]));
    return {
      keyId,
      byModel: ofKey('model', monthStart(nowMs)),
      byDay: Array.from({ length: DETAIL_DAYS }, (_, i) => {
        const day = new Date(firstDay + i * DAY_MS).toISOString().slice(0, 10);
        return byDay.get(day) ?? { ...NO_USAGE, day };
      }),
      refusals: this.#state.usage.refusalsOf(keyId, utcMonth(nowMs)),
    };
  }

  usage(by: UsageGroup, range: Range, nowMs: number): readonly UsageRow[] {
    const query = { by, keyId: undefined, model: undefined, sinceMs: sinceOf(range, nowMs), untilMs: undefined };
    return this.#state.usage.report(query).rows;
  }

  /** Does what was asked for. Faults of the file come back as what there is to say. */
  run(action: Exclude<Action, { kind: 'stop_request' }>, nowMs: number): Done {
    try {
      return this.#state.run(() => this.#run(action, nowMs));
    } catch (error) {
      if (error instanceof UserError) return { kind: 'outcome', text: error.message, tone: 'bad' };
      throw error;
    }
  }

  #run(action: Exclude<Action, { kind: 'stop_request' }>, nowMs: number): Done {
    const secret = mintKey();
    switch (action.kind) {
      case 'create': {
        const change = this.#state.keys.create(secret, { name: action.name, allowlist: null, ...action.limits }, nowMs);
        return madeKey(change, action.name, secret);
      }
      case 'rotate':
        return madeKey(this.#state.keys.rotate(action.keyId, secret, nowMs), action.keyId, secret);
      case 'set_state':
        return told(
          this.#state.keys.setState(action.keyId, action.state),
          action.keyId,
          (name) => `${name} is ${action.state}.`,
        );
      case 'set_limits':
        return told(
          this.#state.keys.setLimits(action.keyId, action.limits),
          action.keyId,
          (name) => `The limits of ${name} are in force.`,
        );
      case 'set_allowlist':
        return told(
          this.#state.keys.editAllowlist(action.keyId, () => action.models),
          action.keyId,
          (name) => `${name} may call ${action.models === null ? 'every model' : `${action.models.length} models`}.`,
        );
      case 'add_credit': {
        const balance = this.#state.account.enter(action.nanos, action.note, nowMs);
        if (balance === undefined) {
          return { kind: 'outcome', text: 'the balance would pass a billion USD; nothing was changed', tone: 'bad' };
        }
        return { kind: 'outcome', text: `The balance is ${formatUsd(balance.balanceNanos)} USD.`, tone: 'good' };
      }
    }
  }
}

const NO_USAGE: UsageRow = {
  key: undefined,
  keyId: undefined,
  model: undefined,
  day: undefined,
  month: undefined,
  source: undefined,
  requests: 0,
  errors: 0,
  promptTokens: 0,
  completionTokens: 0,
  costNanos: 0n,
};

function told(change: KeyChange, idOrName: string, say: (name: string) => string): Done {
  if (change.kind === 'done') return { kind: 'outcome', text: say(change.key.name), tone: 'good' };
  return { kind: 'outcome', text: whyNot(change, idOrName), tone: 'bad' };
}

function madeKey(change: KeyChange, idOrName: string, secret: string): Done {
  if (change.kind === 'done') return { kind: 'made_key', name: change.key.name, secret };
  return { kind: 'outcome', text: whyNot(change, idOrName), tone: 'bad' };
}

function monthStart(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}

function sinceOf(range: Range, nowMs: number): number | undefined {
  switch (range) {
    case '24h':
      return nowMs - DAY_MS;
    case '7d':
      return nowMs - 7 * DAY_MS;
    case '30d':
      return nowMs - 30 * DAY_MS;
    case 'this month':
      return monthStart(nowMs);
    case 'all':
      return undefined;
  }
}
