/** Result of a check: severity, message and fix. */

import { UserError } from '../core/errors.ts';
import { within } from '../core/within.ts';

export interface Finding {
  /** The checked object, such as `disk` or `provider openai`. */
  readonly name: string;
  /** `error`: serving fails, or a provider is unusable. `warning`: it works with a problem. */
  readonly status: 'ok' | 'warning' | 'error';
  readonly message: string;
  /** The host rejects the gateway's key or credentials, or requires a key. */
  readonly isKeyRefused?: true;
  /** Undefined if no action is needed. */
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

/** Converts a UserError. Its message ends at the first semicolon or line break; the rest is the fix. */
export function refused(name: string, error: unknown): Finding {
  if (!(error instanceof UserError)) throw error;
  const [message = '', ...advice] = error.lines.flatMap((line) => line.split('; '));
  return failure(name, message, advice.join('; ') || 'correct that, and run this again');
}

/** Returns the findings of a check, or a warning after `timeoutMs`. */
export function findingsWithin(
  name: string,
  timeoutMs: number,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const message = `not checked: there was no result within ${timeoutMs / 1000} s`;
  const fix = 'run this again when the machine, its disks and its network are less busy';
  return within(timeoutMs, check(), () => [warning(name, message, fix)]);
}
