/** The key of a command: its limits, and the limits inherited from an outer run. */
import { randomInt } from 'node:crypto';
import { basename } from 'node:path';
import { UserError } from '../../core/errors.ts';
import type { Nanos } from '../../core/money.ts';
import { commandLine } from '../../core/program.ts';
import { exactUsd } from '../../operator/format.ts';
import { checkKeyName, isGone, type KeyRecord } from '../../state/keys.ts';
import { warnOfUnknownModels } from '../key-view.ts';
import { createKey } from '../keys.ts';
import { notice } from '../output.ts';
import type { State } from '../state.ts';

export interface LeashTerms {
  readonly maxUsd: Nanos;
  readonly expiresAtMs: number;
  /** Undefined to allow every model. */
  readonly allow: readonly string[] | undefined;
  /** Undefined for the command's name with a random suffix. */
  readonly name: string | undefined;
}

/** Creates the key of a command, inside the outer run with the key `outerId`. Throws a UserError if that is impossible. */
export async function createLeash(
  file: string,
  { maxUsd, expiresAtMs, allow, name = defaultName(file) }: LeashTerms,
  outerId: string | undefined,
  state: State,
): Promise<{ readonly record: KeyRecord; readonly secret: string }> {
  const budgets = [{ period: 'total', limitNanos: maxUsd }];
  if (outerId === undefined) {
    warnOfUnknownModels(allow ?? [], state);
    await warnOfCredit(maxUsd, state);
    const terms = { allowlist: allow ?? null, budgets, expiresAtMs, isLeashed: true };
    // Inner runs may only reach the gateway, and create their keys over HTTP.
    return createKey(name, { ...terms, mayCreate: true }, state);
  }
  const outer = await outerKey(outerId, state);
  await warnOfOuter(maxUsd, outer, state);
  const terms = {
    allowlist: allowedWithin(outer, allow),
    budgets,
    expiresAtMs: Math.min(expiresAtMs, outer.expiresAtMs ?? expiresAtMs),
    isLeashed: true,
    parentId: outer.id,
  };
  return createKey(name, terms, state);
}

async function outerKey(id: string, { keys, config, nowMs }: State): Promise<KeyRecord> {
  const outer = await keys.findWithDeleted(id);
  if (outer?.isLeashed !== true) {
    throw new UserError(
      `the run around this one has no key ${id} in ${config.statePath}, where its gateway keeps them`,
    );
  }
  if (outer.state === 'enabled' && !isGone(outer, nowMs)) return outer;
  throw new UserError(`the run around this one has ended: its key ${outer.name} is not in force any more`);
}

/** An inner run may call only models of the outer one. Throws a UserError if more are requested. */
function allowedWithin({ allowlist, name }: KeyRecord, allow: readonly string[] | undefined): readonly string[] | null {
  if (allowlist === null) return allow ?? null;
  const beyond = allow?.find((model) => !allowlist.includes(model));
  if (beyond === undefined) return allow ?? allowlist;
  throw new UserError(`--allow ${beyond}: the run around this one, ${name}, may not call it`);
}

/** Warns that the budget of an outer run may end the command early. */
async function warnOfOuter(budgetNanos: Nanos, innermost: KeyRecord, { keys, levels, nowMs }: State) {
  const outer = [innermost];
  for (let { parentId } = innermost; parentId !== null; ) {
    const next: KeyRecord | undefined = await keys.find(parentId);
    if (next !== undefined) outer.push(next);
    parentId = next?.parentId ?? null;
  }
  const spends = await levels.spentBy(outer, nowMs);
  const totals = outer.flatMap(({ id }) => spends.get(id) ?? []).filter(({ period }) => period === 'total');
  const left = totals.map(({ limitNanos, chargedNanos }) => limitNanos - chargedNanos);
  const least = left.reduce((a, b) => (b < a ? b : a), budgetNanos);
  if (least >= budgetNanos) return;
  notice(
    `note: the run around this one has ${exactUsd(least > 0n ? least : 0n)} USD left, which bounds this one as well`,
  );
}

/** Warns that the credit may end the command before its budget. */
async function warnOfCredit(budgetNanos: Nanos, { config, account }: State): Promise<void> {
  if (!config.creditEnforced) return;
  const { balanceNanos } = await account.balance();
  if (balanceNanos >= budgetNanos) return;
  notice(
    `note: the balance of ${exactUsd(balanceNanos)} USD is less than the budget; add to it with \`${commandLine(['credit', 'add', '10'], config.path)}\``,
  );
}

const RANDOM_CHARACTERS = 6;
/** The kept length of a command's name. */
const MOST_CHARACTERS = 40;

/** The command's name with a random suffix. */
export function defaultName(file: string): string {
  const random = randomInt(36 ** RANDOM_CHARACTERS)
    .toString(36)
    .padStart(RANDOM_CHARACTERS, '0');
  const name = `${[...basename(file)].slice(0, MOST_CHARACTERS).join('')}-${random}`;
  return checkKeyName(name) === undefined ? name : `run-${random}`;
}
