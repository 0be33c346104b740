/** Reads and changes the state for the dashboard, with the operations of the commands. */
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Catalog, type Model } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { originOf } from '../core/address.ts';
import { DAY_MS, utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { Limits } from '../core/limits.ts';
import {
  burnOf,
  type CostHistory as CostHistoryOf,
  type HistoryFilter,
  historySpan,
  readCostHistory,
} from '../operator/cost-history.ts';
import { MINUTE_MS, type Spending, weekSpending, weekStartMs } from '../operator/forecast.ts';
import { percent } from '../operator/format.ts';
import { endUserPage, groupFigures, NO_FIGURES } from '../operator/level-figures.ts';
import { spendBounds } from '../operator/spending.ts';
import type { CreditEntry } from '../state/account.ts';
import { limitsInForce, type Owner } from '../state/keys.ts';
import { GROUP_ID, NO_LEVEL_TERMS } from '../state/levels.ts';
import { isUnwritableFile, openState, openStateToRead } from '../state/open.ts';
import { boundsOf, monthStart } from '../state/periods.ts';
import type { JournalPlace } from '../state/requests.ts';
import type { OpenState } from '../state/state.ts';
import type { UsageGroup, UsageRow } from '../state/usage.ts';
import type { Action, LevelRef, LevelSubject, Subject } from './actions.ts';
import { type ActionEvent, carryOut, outcome } from './changes.ts';
import { CostHistory, hasHistory, type UsageAsked } from './cost-history.ts';
import { HistoryRead, type HistorySpan } from './history.ts';
import { idOfUsage } from './lists/usage.ts';
import type {
  ComparedUsage,
  FoundPage,
  KeyDetail,
  PlotQuery,
  PlottedCost,
  Range,
  RequestSearch,
  Shared,
  Stored,
  StoredGroup,
  StoredKey,
  StoredUser,
  UsageOf,
  UserPage,
} from './model.ts';
import { readShared, type SharedQuery } from './shared.ts';

/** The ranges of plots. Above a week they use the daily sums, which are fast to read. */
const PLOTTED = {
  '24h': { sinceMs: DAY_MS, by: 'hour' },
  '7d': { sinceMs: 7 * DAY_MS, by: 'day' },
  '30d': { sinceMs: 30 * DAY_MS, by: 'day' },
} as const;
const BURN_GROUPS = ['key', 'user', 'model'] as const;
const NO_BOUNDS = { sinceMs: undefined, untilMs: undefined };
const DETAIL_DAYS = 30;
/** Interval between reads of the cost of the last seven days. */
const WEEK_EVERY_MS = 60_000;
/** Keys per page. */
const PAGE_KEYS = 500;
/** Requests per page: few at first, which appear at once, then as many as take some 5 ms to read. */
const FIRST_REQUESTS = 200;
const PAGE_REQUESTS = 500;
/** End users per page: there may be millions. */
const PAGE_USERS = 100;
const NOT_WRITABLE = 'The state file cannot be written here: it is only shown.';

/** Read methods reject with a UserError if the state cannot be read. */
export class Store {
  #config: Config;
  readonly #state: OpenState;
  #models: readonly Model[];
  /** The keys as of the last read. */
  #keysRead: readonly StoredKey[] = [];
  /** The minute, since 1970, for which the budgets were computed. */
  #boundsMinute: number | undefined;
  readonly #costs = new CostHistory((query) => this.#state.run(() => this.#state.usage.report(query)));
  #week: { readonly readAtMs: number; readonly spending: Spending } | undefined;
  #previousUses: { readonly month: string; readonly uses: ReadonlyMap<string, number> } | undefined;
  /** A message about how the state was opened. */
  readonly opening: ActionEvent | undefined;
  /** Whether the state is opened for reading only: on request, or because its file is not writable. */
  readonly isReadOnly: boolean;

  /** Rejects with a UserError if the state cannot be opened. */
  static async open(config: Config, isReadOnlyWanted = false): Promise<Store> {
    const { state, durability } = config;
    if (!isReadOnlyWanted && !(await isUnwritableFile(state))) {
      return new Store(config, await openState(state, durability));
    }
    const opening = isReadOnlyWanted ? undefined : outcome(NOT_WRITABLE, 'warn');
    return new Store(config, await openStateToRead(state, durability), { opening });
  }

  constructor(config: Config, state: OpenState, readOnly?: { readonly opening: ActionEvent | undefined }) {
    this.#state = state;
    this.#config = config;
    this.isReadOnly = readOnly !== undefined;
    const { created } = state;
    this.opening = readOnly?.opening ?? (created === undefined ? undefined : outcome(`created ${created}`, 'good'));
    this.#models = new Catalog(config.providers).models;
  }

  /** Applies a new config to the same state. */
  configure(config: Config): void {
    this.#config = config;
    this.#models = new Catalog(config.providers).models;
  }

  close(): Promise<void> {
    return this.#state.close();
  }

  /** Reads the state. Unchanged keys remain the same objects. */
  read(nowMs: number): Promise<Stored> {
    const config = this.#config;
    return this.#state.run(async () => {
      const byModel = await this.#usage('model', 'this month', {}, nowMs);
      return {
        statePath: config.statePath,
        configPath: config.path,
        origin: originOf(config.listen, config.tls !== undefined),
        tierName: config.tierName,
        creditEnforced: config.creditEnforced,
        ...(await this.#state.account.balance()),
        week: await this.#weekSpending(nowMs),
        keys: await this.#readKeys(nowMs, config.tier),
        groups: await this.#readGroups(nowMs),
        models: this.#models,
        modelUsage: new Map(byModel.map((row) => [row.model ?? '', row])),
      };
    });
  }

  /** Cached, since a minute changes little about a week. */
  async #weekSpending(nowMs: number): Promise<Spending> {
    const { readAtMs, spending } = this.#week ?? {};
    if (spending !== undefined && readAtMs !== undefined && Math.abs(nowMs - readAtMs) < WEEK_EVERY_MS) return spending;
    const query = { by: 'day', keyId: undefined, model: undefined, untilMs: undefined } as const;
    const { rows } = await this.#state.usage.report({ ...query, sinceMs: weekStartMs(nowMs) });
    this.#week = { readAtMs: nowMs, spending: weekSpending(rows, nowMs) };
    return this.#week.spending;
  }

  /** Reads the activity of the gateways that share the state; undefined for a state file. */
  async shared(query: SharedQuery): Promise<Shared | undefined> {
    const { nodes } = this.#state;
    if (nodes === undefined) return undefined;
    return this.#state.run(() => readShared(nodes, this.#config.node, query));
  }

  /** Whether another process has changed the state since the last call. */
  hasChanged(): Promise<boolean> {
    return this.#state.run(() => this.#state.hasChanged());
  }

  /** Reads keys in pages: most are unchanged, and the copies of a page are garbage before the next one. */
  async #readKeys(nowMs: number, tier: Limits): Promise<readonly StoredKey[]> {
    const month = utcMonth(nowMs);
    const minute = Math.floor(nowMs / MINUTE_MS);
    const figures = await this.#state.usage.month(month);
    const lastUses = await this.#state.usage.lastUses('in', month);
    const previousUses = await this.#usesBefore(month);
    const read: StoredKey[] = [];
    const isOtherMinute = minute !== this.#boundsMinute;
    this.#boundsMinute = minute;
    for (let afterId = ''; ; afterId = read.at(-1)?.record.id ?? '') {
      const page = await this.#state.keys.list({ withDeleted: false, afterId, limit: PAGE_KEYS });
      const fresh = page.map((record) => ({
        record,
        limits: limitsInForce(record, tier),
        month: figures.get(record.id) ?? NO_FIGURES,
        lastUsedMs: lastUses.get(record.id) ?? previousUses.get(record.id),
      }));
      const known = fresh.map((key, index) => unchanged(this.#keysRead[read.length + index], key));
      // Without new spending, the budgets of a key change only with the minute.
      const isDue = (index: number) => isOtherMinute || known[index] === undefined;
      const budgeted = page.filter(({ budgets }, index) => budgets.length > 0 && isDue(index));
      const spends = await this.#state.levels.spentBy(budgeted, nowMs);
      for (const [index, key] of fresh.entries()) {
        const before = known[index];
        const { id, spendLimitNanos } = key.record;
        const bounds = () => spendBounds(spendLimitNanos, key.month.costNanos, spends.get(id) ?? [], nowMs);
        read.push(before !== undefined && !isDue(index) ? before : withBounds(key, bounds(), before));
      }
      if (page.length < PAGE_KEYS) break;
      // SQLite reads are synchronous: key presses are handled only here.
      await setImmediate();
    }
    const isSame = read.length === this.#keysRead.length && read.every((key, index) => key === this.#keysRead[index]);
    if (!isSame) this.#keysRead = read;
    return this.#keysRead;
  }

  async #readGroups(nowMs: number): Promise<readonly StoredGroup[]> {
    const { groups, levels } = this.#state;
    const figures = await groupFigures({ groups, levels, nowMs });
    return figures.groups.map((record) => {
      const month = figures.months.get(record.id) ?? NO_FIGURES;
      const bounds = spendBounds(record.spendLimitNanos, month.costNanos, figures.spends.get(record.id) ?? [], nowMs);
      return { record, keys: figures.keys.get(record.id) ?? 0, month, bounds };
    });
  }

  /** Reads a page of the end users of a key or a group, with names after this one. */
  users(
    owner: Owner,
    after: string,
    nowMs: number,
  ): Promise<Pick<UserPage, 'hasMore'> & { users: readonly StoredUser[] }> {
    const { groups, levels } = this.#state;
    return this.#state.run(async () => {
      const { users, hasMore } = await endUserPage(owner, after, PAGE_USERS, { groups, levels, nowMs });
      const bounded = users.map((user) => {
        const { terms, month, spends } = user;
        return { ...user, bounds: spendBounds(terms.spendLimitNanos, month.costNanos, spends, nowMs) };
      });
      return { users: bounded, hasMore };
    });
  }

  /** Reads earlier months once a month, since past months receive no new requests. */
  async #usesBefore(month: string): Promise<ReadonlyMap<string, number>> {
    if (this.#previousUses?.month !== month)
      this.#previousUses = { month, uses: await this.#state.usage.lastUses('before', month) };
    return this.#previousUses.uses;
  }

  detail(keyId: string, nowMs: number): Promise<StoredDetail> {
    return this.#state.run(() => this.#detail(keyId, nowMs));
  }

  async #detail(keyId: string, nowMs: number): Promise<StoredDetail> {
    const ofKey = async (by: UsageGroup, sinceMs: number) =>
      (await this.#state.usage.report({ by, keyId, model: undefined, sinceMs, untilMs: undefined })).rows;
    const firstDay = Math.floor(nowMs / DAY_MS - DETAIL_DAYS + 1) * DAY_MS;
    const byDay = new Map((await ofKey('day', firstDay)).map((row) => [row.day, row]));
    return {
      keyId,
      byModel: await ofKey('model', monthStart(nowMs, 0)),
      byDay: Array.from({ length: DETAIL_DAYS }, (_, i) => {
        const day = new Date(firstDay + i * DAY_MS).toISOString().slice(0, 10);
        return byDay.get(day) ?? { ...NO_USAGE, day };
      }),
      refusals: await this.#state.usage.refusalsOf(keyId, utcMonth(nowMs)),
    };
  }

  /** Reads usage. Short ranges include the usage of the week before. */
  usage(by: UsageGroup, range: Range, of: UsageOf, nowMs: number): Promise<readonly ComparedUsage[]> {
    return this.#state.run(async () => {
      const rows = await this.#usage(by, range, of, nowMs);
      if (!isCompared(by, range, of)) return rows;
      const sinceMs = (startOf(range, nowMs) ?? nowMs) - WEEK_MS;
      const query = { by, keyId: of.key?.id, model: of.model, sinceMs, untilMs: nowMs - WEEK_MS };
      return compared(rows, (await this.#state.usage.report(query)).rows);
    });
  }

  /** Adds the loaded history of each row's cost by hour or day. */
  withHistory(rows: readonly ComparedUsage[], asked: UsageAsked, nowMs: number): readonly ComparedUsage[] {
    return hasHistory(asked) ? this.#costs.shown(rows, asked, nowMs) : rows;
  }

  /** Reads the history in slices while `isWanted` returns true. */
  async readHistory(rows: readonly ComparedUsage[], asked: UsageAsked, nowMs: number, isWanted: () => boolean) {
    if (hasHistory(asked)) await this.#costs.read(rows, asked, nowMs, isWanted);
  }

  async #usage(by: UsageGroup, range: Range, { key, model, period }: UsageOf, nowMs: number) {
    const within =
      period === undefined ? { sinceMs: startOf(range, nowMs), untilMs: undefined } : (boundsOf(period) ?? NO_BOUNDS);
    return (await this.#state.usage.report({ by, keyId: key?.id, model, ...within })).rows;
  }

  /** Reads the cost over time, and the largest spenders of its burn. */
  plot(of: PlotQuery, nowMs: number): Promise<PlottedCost> {
    const { usage } = this.#state;
    const { sinceMs, by } = PLOTTED[of.range];
    return this.#state.run(async () => {
      const history = await readCostHistory(usage, of.filter, historySpan(nowMs - sinceMs, nowMs, by));
      return { of, history, burnBy: await this.#burnBy(of.filter, history) };
    });
  }

  async #burnBy(filter: HistoryFilter, { span, costs }: CostHistoryOf): Promise<string> {
    const burn = burnOf(costs);
    if (burn === undefined) return '';
    const at = (slot: number) => span.fromMs + slot * span.stepMs;
    const parts: string[] = [];
    for (const by of BURN_GROUPS) {
      const [first] = (await this.#state.usage.report({ ...filter, by, sinceMs: at(burn.from), untilMs: at(burn.to) }))
        .rows;
      const name = first?.[by] ?? '';
      if (first !== undefined && name !== '')
        parts.push(`${percent(Number(first.costNanos) / Number(burn.costNanos))} by ${by} ${name}`);
    }
    return parts.join(', ');
  }

  /** Reads a page of the journal, or the single request with an id. */
  requests({ id, ...search }: RequestSearch, after: JournalPlace | undefined): Promise<FoundPage> {
    const { requests } = this.#state;
    return this.#state.run(async () => {
      if (id === undefined) {
        const limit = after === undefined ? FIRST_REQUESTS : PAGE_REQUESTS;
        const page = await requests.page({ ...search, after, limit });
        const isAll = search.sinceMs === undefined && search.untilMs === undefined;
        return { ...page, left: page.next && isAll ? await requests.countBefore(page.next) : undefined };
      }
      const found = await requests.find(id);
      return { rows: found === undefined ? [] : [found], next: undefined };
    });
  }

  /** Starts reading a span of the journal, by minute. */
  history(span: HistorySpan): HistoryRead {
    return new HistoryRead(span, this.#config.node);
  }

  /** Reads a slice. Returns true if more remain. */
  readOn(read: HistoryRead): Promise<boolean> {
    return this.#state.run(() => read.readOn(this.#state.history));
  }

  credit(): Promise<readonly CreditEntry[]> {
    return this.#state.run(() => this.#state.account.history());
  }

  /** Carries out an action. Storage errors become messages. `before` is the subject before the action. */
  async run(
    action: Exclude<Action, { kind: 'stop_request' }>,
    nowMs: number,
  ): Promise<{ readonly before: Subject | undefined; readonly outcome: ActionEvent }> {
    let before: Subject | undefined;
    try {
      return await this.#state.run(async () => {
        before = await this.#subjectOf(action);
        return { before, outcome: await carryOut(this.#state, action, nowMs) };
      });
    } catch (error) {
      if (error instanceof UserError) return { before, outcome: outcome(toldOf(error), 'bad') };
      throw error;
    }
  }

  async #subjectOf(action: Action): Promise<Subject | undefined> {
    if ('keyId' in action) return this.#state.keys.find(action.keyId);
    return 'level' in action ? this.#levelOf(action.level) : undefined;
  }

  async #levelOf(level: LevelRef): Promise<LevelSubject | undefined> {
    const { groups, keys } = this.#state;
    if (level.kind === 'group') {
      const record = await groups.find(level.groupId);
      return record && { kind: 'group', record };
    }
    const { ownerId, name } = level;
    const isGroup = ownerId.startsWith(GROUP_ID);
    const owner = isGroup ? await groups.find(ownerId) : await keys.find(ownerId);
    const own = await groups.findUser(ownerId, name);
    const nothing = { ...NO_LEVEL_TERMS, ownerId, name, state: 'enabled' } as const;
    return { kind: 'user', record: own ?? nothing, owner: `${isGroup ? '@' : ''}${owner?.name ?? ownerId}` };
  }
}

type StoredDetail = Omit<KeyDetail, 'refusedLately'>;
type Unbounded = Omit<StoredKey, 'bounds'>;

/** Returns the previously read key if it has not changed. */
function unchanged(known: StoredKey | undefined, fresh: Unbounded): StoredKey | undefined {
  if (known === undefined) return undefined;
  const { bounds: _, ...before } = known;
  return isDeepStrictEqual(before, fresh) ? known : undefined;
}

function withBounds(key: Unbounded, bounds: StoredKey['bounds'], known: StoredKey | undefined): StoredKey {
  return known !== undefined && isDeepStrictEqual(known.bounds, bounds) ? known : { ...key, bounds };
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
  cachedTokens: 0,
  cacheWriteTokens: 0,
  completionTokens: 0,
  costNanos: 0n,
};

/** Joins an error's lines into one. */
export function toldOf({ lines }: UserError): string {
  return lines.join(' · ');
}

function startOf(range: Range, nowMs: number): number | undefined {
  switch (range) {
    case 'today':
      return nowMs - (nowMs % DAY_MS);
    case '24h':
      return nowMs - DAY_MS;
    case '7d':
      return nowMs - 7 * DAY_MS;
    case '30d':
      return nowMs - 30 * DAY_MS;
    case 'this month':
      return monthStart(nowMs, 0);
    case 'all':
      return undefined;
  }
}

const WEEK_MS = 7 * DAY_MS;
/** Ranges compared with the week before. Longer ones would overlap with it, and days are compared by date. */
const COMPARED: ReadonlySet<Range> = new Set(['today', '24h', '7d']);

export function isCompared(by: UsageGroup, range: Range, of: UsageOf): boolean {
  return COMPARED.has(range) && by !== 'hour' && by !== 'day' && by !== 'month' && of.period === undefined;
}

/** Adds the cost of the week before, including rows with usage only then. */
export function compared(rows: readonly UsageRow[], before: readonly UsageRow[]): readonly ComparedUsage[] {
  const costs = new Map(before.map((row) => [idOfUsage(row), row.costNanos]));
  const ids = new Set(rows.map(idOfUsage));
  const gone = before.filter((row) => row.costNanos > 0n && !ids.has(idOfUsage(row))).map(emptied);
  return [...rows, ...gone].map((row) => ({ ...row, beforeNanos: costs.get(idOfUsage(row)) ?? 0n }));
}

function emptied(row: UsageRow): UsageRow {
  const none = { requests: 0, errors: 0, promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
  return { ...row, ...none, costNanos: 0n };
}
