/** What an operator can type so that a request would not be refused. Pure. */
import type { ExplainedStep, Explanation } from '../core/explanation.ts';

/** The options that raise what a step has refused. */
const LIMITS: Readonly<Record<string, string>> = {
  requests_per_minute: 'rpm',
  tokens_per_minute: 'tpm',
  size: 'tpm',
  concurrency: 'concurrency',
};
/** In USD: where nothing that was allowed can be doubled. */
const SOME = 10;

/** The words of a command for this key; undefined where none helps, or waiting does. */
export function remedyFor({ code, steps }: Explanation, key: string): readonly string[] | undefined {
  const refused = steps.find(({ status }) => status === 'refused');
  const model = steps.find(({ step }) => step === 'model')?.model;
  switch (code) {
    case 'api_key_disabled':
      return ['keys', 'enable', key];
    case 'model_not_allowed':
      return ['allowlist', 'add', key, String(model)];
    case 'insufficient_credit':
      return ['credit', 'add', String(SOME)];
    case 'spend_limit_reached':
      return ['limits', 'set', targetOf(refused, key), ...spendOption(refused)];
    case 'rate_limited':
      return raised(refused, key);
    default:
      return undefined;
  }
}

interface Level {
  readonly kind: 'key' | 'group' | 'user';
  readonly name: string;
}

/** Whose limit it is; an end user is named by the key or group whose end user it is. */
function targetOf(refused: ExplainedStep | undefined, key: string): string {
  const level = refused?.level as Level | undefined;
  if (level === undefined || (level.kind === 'user' && level.name === key)) return key;
  return level.kind === 'key' ? level.name : `@${level.name}`;
}

function optionOf(refused: ExplainedStep | undefined, name: string): string {
  const { kind } = (refused?.level ?? {}) as Partial<Level>;
  return kind === 'user' ? `--user-${name}` : `--${name}`;
}

function spendOption(refused: ExplainedStep | undefined): readonly string[] {
  const usd = String(2 * Number(refused?.limit_usd) || SOME);
  if (refused?.step !== 'budget') return [optionOf(refused, 'spend-limit'), usd];
  return [optionOf(refused, 'budget'), `${refused.period}=${usd}`];
}

function raised(refused: ExplainedStep | undefined, key: string): readonly string[] | undefined {
  const name = LIMITS[refused?.step ?? ''];
  if (name === undefined) return undefined;
  const least = Math.max(2 * Number(refused?.limit), Number(refused?.needs));
  return ['limits', 'set', targetOf(refused, key), optionOf(refused, name), String(least)];
}
