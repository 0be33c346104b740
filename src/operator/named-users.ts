/**
 * Usage of end users by name. A key or a group books requests to an end user as a level only while it has limits for its end
 * users, or for this one. Sums by name exist for all requests, so they also cover the time before the limits were set.
 */
import { cleanName, OTHER_NAMES } from '../core/spent-by.ts';
import type { Owner } from '../state/keys.ts';
import { GROUP_ID } from '../state/levels.ts';
import { monthStart } from '../state/periods.ts';
import type { OpenState } from '../state/state.ts';
import type { MonthFigures } from '../state/usage.ts';
import { NO_FIGURES } from './level-figures.ts';

/** Returns the usage of a name; undefined if it is unknown. */
export type FiguresOfName = (name: string) => MonthFigures | undefined;

/** Reads this month's usage by name. For a group it is read from the journal, in a time that grows with its requests. */
export function namedThisMonth(owner: Owner, usage: OpenState['usage'], nowMs: number): Promise<FiguresOfName> {
  return namedSince(owner, usage, monthStart(nowMs, 0));
}

/** Whether any recorded request of a key or a group named this end user. */
export async function wasNamed(owner: Owner, usage: OpenState['usage'], name: string): Promise<boolean> {
  const figures = await namedSince(owner, usage, undefined);
  return (figures(name)?.requests ?? 0) > 0;
}

async function namedSince(
  { id }: Owner,
  usage: OpenState['usage'],
  sinceMs: number | undefined,
): Promise<FiguresOfName> {
  const of = id.startsWith(GROUP_ID) ? { keyId: undefined, groupId: id } : { keyId: id };
  const { rows, droppedDays } = await usage.report({
    by: 'user',
    ...of,
    model: undefined,
    sinceMs,
    untilMs: undefined,
  });
  // Names beyond the monthly maximum share a sum, and dropped journal rows had names, too.
  const isComplete = droppedDays.length === 0 && !rows.some(({ user }) => user === OTHER_NAMES);
  return (name) => {
    // Reports truncate long names, so this name may stand for several.
    if (name === OTHER_NAMES || cleanName(name) !== name) return undefined;
    const row = rows.find(({ user }) => user === name);
    if (row === undefined) return isComplete ? NO_FIGURES : undefined;
    const { requests, promptTokens, completionTokens, costNanos } = row;
    return { requests, tokens: promptTokens + completionTokens, costNanos };
  };
}

/**
 * The usage to show for an end user whose level has `counted`. The sums by name are larger if the limits were set during the
 * month.
 */
export function monthToShow(
  { userLimits }: Owner,
  counted: MonthFigures,
  named: MonthFigures | undefined,
): MonthFigures | undefined {
  if (userLimits === null) return named;
  return named !== undefined && named.requests > counted.requests ? named : counted;
}
