/** Carries out the dashboard's changes through the same operations as the commands. */
import { mintKey } from '../core/api-key.ts';
import { countOf, usd } from '../operator/format.ts';
import { BALANCE_TOO_LARGE, explainGroupChange, explainKeyChange } from '../operator/messages.ts';
import type { SomeLimits } from '../operator/terms.ts';
import type { KeyChange, LimitChanges, UserLimits } from '../state/keys.ts';
import { type GroupChange, NO_USER_LIMITS } from '../state/levels.ts';
import type { OpenState } from '../state/state.ts';
import type { Action } from './actions.ts';
import type { Tone } from './draw/line.ts';
import type { Event } from './update/step.ts';

export type ActionEvent = Extract<Event, { kind: 'outcome' | 'key_created' }>;

/** Carries out an action. Rejects if the state cannot be changed. */
export async function carryOut(
  { keys, groups, account, nodes }: OpenState,
  action: Exclude<Action, { kind: 'stop_request' }>,
  nowMs: number,
): Promise<ActionEvent> {
  const secret = mintKey();
  switch (action.kind) {
    case 'create': {
      const { name, terms, outer } = action;
      return keyCreated(await keys.create(secret, { ...terms, name, groupId: outer?.id ?? null }, nowMs), name, secret);
    }
    case 'rotate':
      return keyCreated(await keys.rotate(action.keyId, secret, nowMs), action.keyId, secret);
    case 'set_state':
      return outcomeOf(
        await keys.setState(action.keyId, action.state),
        action.keyId,
        (name) => `${name} is ${action.state}.`,
      );
    case 'set_limits':
      return outcomeOf(
        await keys.setLimits(action.keyId, changesOf(action.limits), nowMs),
        action.keyId,
        (name) => `The limits of ${name} are in effect.`,
      );
    case 'set_allowlist':
      return outcomeOf(await keys.editAllowlist(action.keyId, () => action.models), action.keyId, (name) =>
        mayCall(name, action.models),
      );
    case 'create_group': {
      const { terms, name, outer } = action;
      const change = await groups.create({ ...terms, name, groupId: outer?.id ?? null }, nowMs);
      return groupOutcome(change, name, (made) => `Created @${made}.`);
    }
    case 'set_level_state':
    case 'set_level_limits':
      return changeLevel(groups, action, nowMs);
    case 'set_user_limits': {
      const userLimits = (before: UserLimits | null) => ({ ...(before ?? NO_USER_LIMITS), ...action.limits });
      const say = (name: string) => `The limits of each end user of ${name} are in effect.`;
      if ('keyId' in action) {
        return outcomeOf(await keys.setLimits(action.keyId, { userLimits }, nowMs), action.keyId, say);
      }
      const { groupId } = action.level;
      const change = await groups.setLimits(groupId, { userLimits }, nowMs);
      return groupOutcome(change, groupId, (name) => say(`@${name}`));
    }
    case 'set_group_allowlist': {
      const { level, models } = action;
      const change = await groups.editAllowlist(level.groupId, () => models);
      return groupOutcome(change, level.groupId, (name) => mayCall(`@${name}`, models));
    }
    case 'move': {
      const into = action.outer === undefined ? 'no group' : `@${action.outer.name}`;
      const groupId = action.outer?.id ?? null;
      if ('keyId' in action) {
        return outcomeOf(await keys.place(action.keyId, groupId), action.keyId, (name) => `${name} is in ${into}.`);
      }
      const change = await groups.place(action.level.groupId, groupId);
      return groupOutcome(change, action.level.groupId, (name) => `@${name} is in ${into}.`);
    }
    case 'delete_group': {
      const { level, isEmptied } = action;
      const change = await groups.delete(level.groupId, { isEmptied });
      return groupOutcome(change, level.groupId, (name) => `@${name} is deleted.`);
    }
    case 'add_credit': {
      const balance = await account.enter(action.nanos, action.note, nowMs);
      if (balance === undefined) {
        return { kind: 'outcome', text: BALANCE_TOO_LARGE, tone: 'bad' };
      }
      const { nanos } = action;
      const change = nanos < 0n ? `Removed ${usd(-nanos)} USD.` : `Added ${usd(nanos)} USD.`;
      return outcome(`${change} The balance is ${usd(balance.balanceNanos)} USD.`, 'good');
    }
    case 'stop_elsewhere': {
      const isInFlight = await nodes?.stopRequest(action.id);
      if (!isInFlight) return { kind: 'outcome', text: 'The request has already ended.', tone: 'warn' };
      return { kind: 'outcome', text: `${action.node} stops ${action.id} within seconds.`, tone: 'good' };
    }
  }
}

async function changeLevel(
  groups: OpenState['groups'],
  action: Extract<Action, { readonly kind: 'set_level_state' | 'set_level_limits' }>,
  nowMs: number,
): Promise<ActionEvent> {
  const { level } = action;
  const isState = action.kind === 'set_level_state';
  if (level.kind === 'user') {
    const { ownerId, name } = level;
    const set = isState ? { state: action.state } : action.limits;
    await groups.editUser(ownerId, name, (before) => ({ ...before, ...set }), nowMs);
    if (!isState) return outcome(`The limits of ${name} are in effect.`, 'good');
    return outcome(`${name} is ${action.state === 'enabled' ? 'enabled' : 'blocked'}.`, 'good');
  }
  const { groupId } = level;
  if (isState) {
    const change = await groups.setState(groupId, action.state);
    return groupOutcome(change, groupId, (name) => `@${name} is ${action.state}.`);
  }
  const change = await groups.setLimits(groupId, changesOf(action.limits), nowMs);
  return groupOutcome(change, groupId, (name) => `The limits of @${name} are in effect.`);
}

function mayCall(name: string, models: readonly string[] | null): string {
  return `${name} may call ${models === null ? 'every model' : countOf(models.length, 'model')}.`;
}

function groupOutcome(change: GroupChange, idOrName: string, say: (name: string) => string): ActionEvent {
  if (change.kind === 'done') return outcome(say(change.group.name), 'good');
  return outcome(explainGroupChange(change, idOrName), 'bad');
}

/** Leaves budgets out unless the change sets them: changing budgets in a database pauses admission on all gateways. */
function changesOf({ budgets, ...limits }: SomeLimits): LimitChanges {
  return budgets === undefined ? limits : { ...limits, budgets: () => budgets };
}

export function outcome(text: string, tone: Tone): ActionEvent {
  return { kind: 'outcome', text, tone };
}

function outcomeOf(change: KeyChange, idOrName: string, say: (name: string) => string): ActionEvent {
  if (change.kind === 'done') return { kind: 'outcome', text: say(change.key.name), tone: 'good' };
  return { kind: 'outcome', text: explainKeyChange(change, idOrName), tone: 'bad' };
}

function keyCreated(change: KeyChange, idOrName: string, secret: string): ActionEvent {
  if (change.kind === 'done') return { kind: 'key_created', name: change.key.name, secret };
  return { kind: 'outcome', text: explainKeyChange(change, idOrName), tone: 'bad' };
}
