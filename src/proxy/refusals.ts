/** The client's errors and the operator's causes for refusals of the ledger. */
import type { Model } from '../catalog/catalog.ts';
import { shownTime } from '../core/budgets.ts';
import type { DialectName } from '../core/dialects.ts';
import { type ClientError, rateLimited } from '../core/errors.ts';
import { formatUsd, type Nanos, usdRoundedUp } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import { printableName } from '../core/printable.ts';
import { shellWord } from '../core/shell-word.ts';
import { API_KEY_DISABLED, INVALID_API_KEY } from '../http/authorization.ts';
import type { AtLevel, MoneyRefusal, Refusal, SpendRefusal } from '../ledger/ledger.ts';

/** The error for a refused request to `model` with a hold of `holdNanos`. */
export function errorForRefusal(refusal: Refusal, model: string, holdNanos: Nanos): ClientError {
  switch (refusal.reason) {
    case 'unknown_key':
      return INVALID_API_KEY;
    case 'key_disabled':
      return keyDisabled(refusal.level);
    case 'model_not_allowed':
      return modelNotAllowed(model);
    case 'user_required':
      return {
        code: 'invalid_request',
        message:
          'This key needs to know for whom it acts: name the end user in `user`, or in the header X-Inf-Gw-User.',
      };
    case 'spend_limit_reached':
      return {
        code: 'spend_limit_reached',
        message: `${whose(refusal)} has reached its ${limitOf(refusal)}. ${resetOf(refusal)}${howToRaise(refusal)}`,
      };
    case 'insufficient_credit':
      return {
        code: 'insufficient_credit',
        message:
          `The account balance does not cover this request of the key ${printableName(refusal.keyName)}, ` +
          `which may cost ${usdRoundedUp(holdNanos)} USD. ${HOW_TO_ADD_CREDIT}`,
      };
    case 'larger_than_token_limit':
      return {
        code: 'rate_limited',
        message:
          `This request alone exceeds the limit of ${counted(refusal.limit, 'token')} per minute${ofLevel(refusal)}, so waiting does not help. ` +
          'Send less, declare a smaller max_tokens, or have the limit raised.',
        retryAfterS: 60,
        shouldRetry: false,
      };
    case 'requests_per_minute':
      return rateLimited(
        `The limit of ${counted(refusal.limit, 'request')} per minute${ofLevel(refusal)} is reached.`,
        refusal.retryAfterS,
      );
    case 'tokens_per_minute':
      return rateLimited(
        `The limit of ${counted(refusal.limit, 'token')} per minute${ofLevel(refusal)} is reached.`,
        refusal.retryAfterS,
      );
    case 'concurrency':
      return rateLimited(
        `The limit of ${counted(refusal.limit, 'concurrent request')}${ofLevel(refusal)} is reached.`,
        refusal.retryAfterS,
      );
    case 'money_spoken_for':
      return rateLimited(`The remaining money${ofLevel(refusal)} is held for requests in flight.`, refusal.retryAfterS);
  }
}

const HOW_TO_ADD_CREDIT = 'The operator can add credit: inf-gw credit add <usd>';

/** The error for a key whose requests are all refused because the account is empty. */
export function noCredit(keyName: string): ClientError {
  return {
    code: 'insufficient_credit',
    message: `The account has no credit left for the key ${printableName(keyName)}. ${HOW_TO_ADD_CREDIT}`,
  };
}

/** Starts a sentence. */
function whose({ level, keyName }: SpendRefusal): string {
  if (level?.kind === 'user') return 'This end user';
  return `The ${level?.kind ?? 'key'} ${printableName(level?.name ?? keyName)}`;
}

/** Follows a limit, with a leading space; empty for a limit of the key itself. */
function ofLevel({ level }: AtLevel): string {
  if (level === undefined) return '';
  return level.kind === 'user' ? ' for this end user' : ` of the ${level.kind} ${printableName(level.name)}`;
}

export function keyDisabled(level: AtLevel['level']): ClientError {
  if (level === undefined) return API_KEY_DISABLED;
  if (level.kind === 'user')
    return { ...API_KEY_DISABLED, message: 'This end user is blocked. Ask the operator to unblock them.' };
  return {
    ...API_KEY_DISABLED,
    message: `The ${level.kind} ${printableName(level.name)}, which this key belongs to, is disabled.`,
  };
}

/** `monthly spend limit of 5.00 USD`, `budget of 5.00 USD per day`. */
function limitOf({ limitNanos, budget }: SpendRefusal): string {
  const amount = `${formatUsd(limitNanos)} USD`;
  if (budget === undefined) return `monthly spend limit of ${amount}`;
  return budget.period === 'total' ? `total budget of ${amount}` : `budget of ${amount} per ${budget.period}`;
}

/** When the limit resets, as a sentence with a trailing space; empty if it never does. */
function resetOf({ budget, limitNanos }: SpendRefusal): string {
  // A limit of 0 refuses requests in every month.
  if (budget === undefined) return limitNanos === 0n ? '' : 'It resets next month (UTC). ';
  return budget.freesAtMs === null ? '' : `It has room again at ${shownTime(budget.freesAtMs)}. `;
}

function howToRaise({ budget, level, keyName }: SpendRefusal): string {
  const option = budget === undefined ? 'spend-limit <usd>' : `budget ${budget.period}=<usd>`;
  const isOfGroup = level?.kind === 'group' || level?.of === 'group';
  const target = shellWord(`${isOfGroup ? '@' : ''}${printableName(level?.name ?? keyName)}`);
  const isUser = level?.kind === 'user';
  // The limit of an individual end user overrides the common one, so the common one cannot raise it.
  if (isUser && level.own?.includes(budget?.period ?? 'spend_limit'))
    return `The operator can raise it: inf-gw users set <user> --key ${target} --${option}`;
  return `The operator can raise it: inf-gw limits set ${target} --${isUser ? 'user-' : ''}${option}`;
}

function leftOf({ budget, level }: SpendRefusal): string {
  const owner =
    level === undefined ? 'key' : level.kind === 'user' ? 'end user' : `${level.kind} ${printableName(level.name)}`;
  return budget === undefined ? `the spend limit of the ${owner}` : `the budget of the ${owner} (${budget.period})`;
}

/** The owner of a limit, for the operator, with a leading space; empty for the key itself. */
function causeAt({ level }: AtLevel): string {
  if (level === undefined) return '';
  return level.kind === 'user'
    ? ` of the end user (${printableName(level.name)})`
    : ` of the ${level.kind} ${printableName(level.name)}`;
}

/** Why an existing key is refused, for the operator. */
export function disabledAt({ level }: AtLevel): string {
  if (level === undefined) return 'key is disabled';
  const name = printableName(level.name);
  if (level.kind !== 'user') return `${level.kind} ${name} is disabled`;
  return `end user of ${level.of === 'group' ? '@' : ''}${name} is blocked`;
}

/** `0.10 USD/day`: the amount first, because narrow columns cut the end. */
function boundOf({ limitNanos, budget }: SpendRefusal): string {
  const amount = `${formatUsd(limitNanos)} USD`;
  if (budget === undefined) return `${amount}/month`;
  return budget.period === 'total' ? `${amount} in total` : `${amount}/${budget.period}`;
}

/** Empty for the monthly limit, whose reset date is obvious. */
function againAt({ budget }: SpendRefusal): string {
  return budget === undefined || budget.freesAtMs === null ? '' : `, again at ${shownTime(budget.freesAtMs)}`;
}

/** Why admission refused a request, for the operator: the reached limit, and when it resets. */
export function causeOf(refusal: Refusal): string {
  switch (refusal.reason) {
    case 'unknown_key':
      return 'no such key';
    case 'key_disabled':
      return disabledAt(refusal);
    case 'model_not_allowed':
      return `not on the allowlist${causeAt(refusal) || ' of the key'}`;
    case 'user_required':
      return 'names no end user';
    case 'spend_limit_reached':
      return `${boundOf(refusal)}${causeAt(refusal)} spent${againAt(refusal)}`;
    case 'insufficient_credit':
      return `only ${formatUsd(refusal.balanceNanos)} USD of credit`;
    case 'larger_than_token_limit':
      return `alone over ${counted(refusal.limit, 'token')}/min${causeAt(refusal)}`;
    case 'requests_per_minute':
      return `${counted(refusal.limit, 'request')}/min${causeAt(refusal)}, again in ${refusal.retryAfterS} s`;
    case 'tokens_per_minute':
      return `${counted(refusal.limit, 'token')}/min${causeAt(refusal)}, again in ${refusal.retryAfterS} s`;
    case 'concurrency':
      return `${counted(refusal.limit, 'request')} in flight${causeAt(refusal)}`;
    case 'money_spoken_for':
      return `money${causeAt(refusal)} held for requests in flight`;
  }
}

/** The error that ends a stream whose hold could not grow. */
export function outOfMoney(refusal: MoneyRefusal): ClientError {
  const message =
    refusal.reason === 'insufficient_credit'
      ? `The account balance does not cover more of this response for the key ${printableName(refusal.keyName)}, which ends here. ${HOW_TO_ADD_CREDIT}`
      : `${whose(refusal)} has reached its ${limitOf(refusal)}, so this response ends here. ${howToRaise(refusal)}`;
  const left = refusal.reason === 'insufficient_credit' ? 'the balance' : leftOf(refusal);
  const failure = {
    reason: 'out_of_money',
    status: undefined,
    message: `${left} left nothing for more of the stream`,
  } as const;
  return { code: refusal.reason, message, failure };
}

export function modelNotAllowed(model: string): ClientError {
  return {
    code: 'model_not_allowed',
    message: `This key may not use the model "${printableName(model)}". GET /v1/models lists the models it may use.`,
  };
}

/** The error for a model that exists, but not for clients of this dialect. */
export function modelNotReached({ id, dialects }: Pick<Model, 'id' | 'dialects'>, dialect: DialectName): ClientError {
  return {
    code: 'model_not_found',
    message: `The model "${id}" does not exist for ${dialect}: its provider speaks ${dialects.join(' and ')}.`,
  };
}

/** `near`: models with similar names that the key may call. */
export function modelNotFound(model: string, near: readonly { readonly id: string }[] = []): ClientError {
  const hint = model.includes('/') ? '' : ' Model names include their provider: <provider>/<model>.';
  const ids = near.map(({ id }) => id).join(', ');
  const alike = ids === '' ? '' : ` Names like it: ${ids}.`;
  return {
    code: 'model_not_found',
    message: `The model "${printableName(model)}" does not exist.${hint}${alike} GET /v1/models lists the models.`,
  };
}
