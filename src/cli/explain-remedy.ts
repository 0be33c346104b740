/** The command that would let a refused request through. Pure. */
import type { ExplainedStep, Explanation } from '../core/explanation.ts';
import type { LevelName } from '../state/levels.ts';

/** The option that raises the limit of each step. */
const LIMITS: Readonly<Record<string, string>> = {
  requests_per_minute: 'rpm',
  tokens_per_minute: 'tpm',
  size: 'tpm',
  concurrency: 'concurrency',
};
/** The amount to suggest where the limit is 0 and cannot be doubled, in USD. */
const SOME = 10;

/** The words of a command for this key. Undefined if no command helps, or if waiting does. */
export function remedyFor({ code, steps }: Explanation, key: string): readonly string[] | undefined {
  const refused = steps.find(({ status }) => status === 'refused');
  const model = steps.find(({ step }) => step === 'model')?.model;
  switch (code) {
    case 'api_key_disabled': {
      const target = targetOf(refused, key);
      const isUser = (refused?.level as LevelName | undefined)?.kind === 'user';
      return isUser ? ['users', 'unblock', '<user>', '--key', target] : ['keys', 'enable', target];
    }
    case 'model_not_allowed':
      return ['allowlist', 'add', targetOf(refused, key), String(model)];
    case 'insufficient_credit':
      return ['credit', 'add', String(SOME)];
    case 'spend_limit_reached':
      return spendRaised(refused, key);
    case 'rate_limited':
      return raised(refused, key);
    default:
      return undefined;
  }
}

/** The owner of the limit: for an end user, the key or group that counts it. */
function targetOf(refused: ExplainedStep | undefined, key: string): string {
  const level = refused?.level as LevelName | undefined;
  if (level === undefined) return key;
  return (level.of ?? level.kind) === 'group' ? `@${level.name}` : level.name;
}

/** `term`: the name of a limit that may be set for one end user alone, or the period of a budget. */
function raisedTo(
  refused: ExplainedStep | undefined,
  key: string,
  term: string,
  option: string,
  value: string,
): readonly string[] {
  const { kind, own } = (refused?.level ?? {}) as Partial<LevelName>;
  const target = targetOf(refused, key);
  if (own?.includes(term)) return ['users', 'set', '<user>', '--key', target, `--${option}`, value];
  return ['limits', 'set', target, `--${kind === 'user' ? 'user-' : ''}${option}`, value];
}

function spendRaised(refused: ExplainedStep | undefined, key: string): readonly string[] {
  const usd = String(2 * Number(refused?.limit_usd) || SOME);
  if (refused?.step !== 'budget') return raisedTo(refused, key, 'spend_limit', 'spend-limit', usd);
  const period = String(refused.period);
  return raisedTo(refused, key, period, 'budget', `${period}=${usd}`);
}

function raised(refused: ExplainedStep | undefined, key: string): readonly string[] | undefined {
  const name = LIMITS[refused?.step ?? ''];
  if (name === undefined) return undefined;
  const least = Math.max(2 * Number(refused?.limit), Number(refused?.needs));
  return raisedTo(refused, key, name, name, String(least));
}
