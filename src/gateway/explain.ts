/** Explains a request without a running gateway: decides like a gateway that starts now with this config and state. */
import { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import type { Limits } from '../core/limits.ts';
import { factsOfStanding, forecastOf, type StoredLevel } from '../ledger/local/forecast.ts';
import { NO_LIMITS } from '../ledger/local/level-cache.ts';
import { explain } from '../proxy/explain.ts';
import { type KeyRecord, limitsInForce, type UserLimits } from '../state/keys.ts';
import { type GroupRecord, isKeyId, ownTerms, termsOfUser, userId } from '../state/levels.ts';
import type { OpenState } from '../state/state.ts';
import { closeProviders, startProviders } from './providers.ts';

export interface ExplainedHere {
  readonly explanation: Explanation;
  /** Requests left open by a crash. The next start charges their holds, so this explanation does the same. */
  readonly interrupted: number;
}

type State = Pick<OpenState, 'standings' | 'kept' | 'keys' | 'groups' | 'levels'>;

/** `key`: the key of the question. Reads only, and contacts no provider. */
export async function explainHere(
  config: Config,
  state: State,
  key: KeyRecord,
  question: ExplainQuestion,
): Promise<ExplainedHere> {
  const { creditEnforced, capOutput, maxBodyBytes } = config;
  const now = { wallMs: Date.now(), nowMs: performance.now() };
  const { interrupted } = await state.standings.of(key.id, now.wallMs);
  const factsOf = async (user: string | undefined) =>
    factsOfStanding(key, await levelsOf(state, key, user, config.tier, now.wallMs), creditEnforced, now);
  const providers = startProviders(config.providers);
  try {
    const parts = { catalog: new Catalog(config.providers, config.aliases), providers, capOutput, maxBodyBytes };
    const forecast = async (asked: Parameters<typeof forecastOf>[0]) => {
      const facts = new Map<string | undefined, Awaited<ReturnType<typeof factsOf>>>();
      for (const user of [undefined, ...asked.requests.map((each) => each.user)]) facts.set(user, await factsOf(user));
      return forecastOf(asked, (user) => facts.get(user));
    };
    return {
      explanation: await explain({ ...parts, ledger: { forecast }, keeper: state.kept }, question),
      interrupted,
    };
  } finally {
    await closeProviders(providers);
  }
}

/** Returns the stored levels of a request, the innermost first. */
async function levelsOf(
  state: State,
  key: KeyRecord,
  user: string | undefined,
  tier: Limits,
  wallMs: number,
): Promise<readonly StoredLevel[]> {
  const found: StoredLevel[] = [];
  for (let owner: KeyRecord | GroupRecord | undefined = key; owner !== undefined; owner = await around(state, owner)) {
    if (user !== undefined && owner.userLimits !== null) {
      found.push(await userLevel(state, owner, owner.userLimits, user, wallMs));
    }
    found.push(await ownerLevel(state, owner, tier, wallMs));
  }
  return found;
}

/** Returns the parent key or group, if any. */
async function around(
  { keys, groups }: State,
  owner: KeyRecord | GroupRecord,
): Promise<KeyRecord | GroupRecord | undefined> {
  if ('parentId' in owner && owner.parentId !== null) return keys.find(owner.parentId);
  return owner.groupId === null ? undefined : groups.find(owner.groupId);
}

async function ownerLevel(
  { standings, levels }: State,
  owner: KeyRecord | GroupRecord,
  tier: Limits,
  wallMs: number,
): Promise<StoredLevel> {
  const { id, name, state, allowlist, spendLimitNanos, userLimits } = owner;
  const isKey = 'expiresAtMs' in owner;
  const spends = await levels.spentBy([owner], wallMs);
  const level = {
    id,
    name: { kind: isKey ? ('key' as const) : ('group' as const), name },
    state,
    expiresAtMs: isKey ? owner.expiresAtMs : null,
    allowlist,
    requiresUser: userLimits?.required === true,
    limits: limitsInForce(owner, isKey ? tier : NO_LIMITS),
    spendLimitNanos,
  };
  return { level, standing: await standings.of(id, wallMs), spends: spends.get(id) ?? [] };
}

async function userLevel(
  { standings, groups, levels }: State,
  owner: KeyRecord | GroupRecord,
  ofAll: UserLimits,
  user: string,
  wallMs: number,
): Promise<StoredLevel> {
  const id = userId(owner.id, user);
  const own = await groups.findUser(owner.id, user);
  const terms = termsOfUser(ofAll, own);
  const of = isKeyId(owner.id) ? ('key' as const) : ('group' as const);
  const spends = await levels.spentBy([{ id, budgets: terms.budgets }], wallMs);
  const level = {
    id,
    name: { kind: 'user' as const, name: owner.name, of, own: own === undefined ? [] : ownTerms(own) },
    state: own?.state ?? ('enabled' as const),
    expiresAtMs: null,
    allowlist: null,
    requiresUser: false,
    limits: limitsInForce(terms, NO_LIMITS),
    spendLimitNanos: terms.spendLimitNanos,
  };
  return { level, standing: await standings.of(id, wallMs), spends: spends.get(id) ?? [] };
}
