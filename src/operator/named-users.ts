/**
 * The figures of end users by the names that requests gave. A key or a group books requests to an end user only while it
 * has limits for its end users, or something is set for one of them; the names of all requests are summed always.
 */
import { cleanName, OTHER_NAMES } from '../core/spent-by.ts';
import type { Owner } from '../state/keys.ts';
import { GROUP_ID } from '../state/levels.ts';
import { monthStart } from '../state/periods.ts';
import type { OpenState } from '../state/state.ts';
import type { MonthFigures } from '../state/usage.ts';
import { NO_FIGURES } from './level-figures.ts';

/** The figures of a name; undefined if they are not known. */
export type FiguresOfName = (name: string) => MonthFigures | undefined;

/** Reads the figures of this month. Those of a group are read from the journal, so the time grows with its requests. */
export function namedThisMonth(owner: Owner, usage: OpenState['usage'], nowMs: number): Promise<FiguresOfName> {
  return namedSince(owner, usage, monthStart(nowMs, 0));
}

/** Whether a request of a key or a group has ever named an end user, as far as the state remembers. */
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
  // Names beyond the limit of a month are summed together, and dropped rows of the journal had names, too.
  const isComplete = droppedDays.length === 0 && !rows.some(({ user }) => user === OTHER_NAMES);
  return (name) => {
    // Reports show a long name shortened, so it may stand for several.
    if (name === OTHER_NAMES || cleanName(name) !== name) return undefined;
    const row = rows.find(({ user }) => user === name);
    if (row === undefined) return isComplete ? NO_FIGURES : undefined;
    const { requests, promptTokens, completionTokens, costNanos } = row;
    return { requests, tokens: promptTokens + completionTokens, costNanos };
  };
}

/** The figures to show for an end user whose level was booked `counted`: the limits may have been set during the month. */
export function monthToShow(
  { userLimits }: Owner,
  counted: MonthFigures,
  named: MonthFigures | undefined,
): MonthFigures | undefined {
  if (userLimits === null) return named;
  return named !== undefined && named.requests > counted.requests ? named : counted;
}
