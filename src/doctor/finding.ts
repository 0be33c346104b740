/** What a check has found: how bad it is, in one sentence, and what to do about it. */

import { UserError } from '../core/errors.ts';
import { within } from '../core/within.ts';

export interface Finding {
  /** What was looked at, such as `disk` or `provider openai`. */
  readonly name: string;
  /** `error`: serving fails, or a provider cannot be used. `warning`: it works, but not as it should. */
  readonly status: 'ok' | 'warning' | 'error';
  readonly message: string;
  /** The host refuses the key or the credentials of the gateway, or requires a key. */
  readonly isKeyRefused?: true;
  /** Undefined if there is nothing to do. */
  readonly fix: string | undefined;
}

export function ok(name: string, message: string): Finding {
  return { name, status: 'ok', message, fix: undefined };
}

export function warning(name: string, message: string, fix: string): Finding {
  return { name, status: 'warning', message, fix };
}

export function failure(name: string, message: string, fix: string): Finding {
  return { name, status: 'error', message, fix };
}

/** A UserError as a finding: it says what is wrong, and what to do after a semicolon or in a line of its own. */
export function refused(name: string, error: unknown): Finding {
  if (!(error instanceof UserError)) throw error;
  const [message = '', ...advice] = error.lines.flatMap((line) => line.split('; '));
  return failure(name, message, advice.join('; ') || 'correct that, and run this again');
}

/** The findings of a check, or a warning if it takes longer than `timeoutMs`. */
export function findingsWithin(
  name: string,
  timeoutMs: number,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const message = `not checked: there was no result within ${timeoutMs / 1000} s`;
  const fix = 'run this again when the machine, its disks and its network are less busy';
  return within(timeoutMs, check(), () => [warning(name, message, fix)]);
}
