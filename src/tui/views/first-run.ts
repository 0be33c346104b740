/** The Overview before the first request: completed steps, the next step, and the first request itself. */
import { originOf } from '../../core/address.ts';
import { firstRequest } from '../../operator/first-request.ts';
import { usd } from '../../operator/format.ts';
import { clean, fit } from '../../operator/text.ts';
import { shellLine, type Words } from '../command-line.ts';
import { bold, dim, EMPTY, type Line, span } from '../draw/line.ts';
import type { Model } from '../model.ts';
import { accountOf } from '../select.ts';

/** Columns for the names of the steps. */
const NAME = 10;

/** Whether no request has ever been answered; charts and lists would be empty. */
export function isFirstRun({ stored: { keys, modelUsage }, seconds, shared }: Model): boolean {
  if (shared !== undefined || seconds.length > 0 || modelUsage.size > 0) return false;
  return keys.every(({ lastUsedMs }) => lastUsedMs === undefined);
}

export function firstRun(model: Model): Line[] {
  const { snapshot, stored } = model;
  const { configPath, models } = stored;
  const origin = snapshot === undefined ? stored.origin : originOf(snapshot.address, snapshot.tls !== null);
  const asked = models.find(({ active }) => active)?.id ?? 'PROVIDER/MODEL';
  return [
    [bold('First steps')],
    EMPTY,
    step('config', true, configPath ?? 'none: the defaults apply'),
    gatewayStep(model),
    keyStep(model),
    ...creditStep(model),
    EMPTY,
    [dim('Then, in a shell:')],
    EMPTY,
    ...firstRequest(origin, clean(asked)).map((line): Line => [{ text: line }]),
  ];
}

function step(name: string, isDone: boolean, text: string, rest = ''): Line {
  const sign = isDone ? span('✓ ', { tone: 'good' }) : span('✕ ', { tone: 'bad' });
  return [sign, { text: fit(name, NAME) }, isDone ? dim(clean(text)) : bold(text), dim(rest)];
}

function gatewayStep({ snapshot, isConnecting, configOption }: Model): Line {
  if (snapshot !== undefined) return step('gateway', true, `serves ${snapshot.address}`);
  if (isConnecting) return [dim('○ '), { text: fit('gateway', NAME) }, dim('connecting…')];
  return step('gateway', false, shellLine([['serve']], configOption), '  in another terminal');
}

function keyStep(model: Model): Line {
  const [key] = model.stored.keys.filter(({ record }) => record.state === 'enabled');
  if (key !== undefined) return step('key', true, key.record.name);
  return todo(model, 'key', 'n', ['keys', 'create', 'my-app']);
}

/** The step for credit; empty if credit is not needed. */
function creditStep(model: Model): Line[] {
  if (!model.stored.creditEnforced) return [];
  const { balanceNanos } = accountOf(model);
  if (balanceNanos > 0n) return [step('credit', true, `${usd(balanceNanos)} USD`)];
  return [todo(model, 'credit', '+', ['credit', 'add', '10'])];
}

/** Returns an open step with its key press and its command; a read-only dashboard shows only the command. */
function todo({ isReadOnly, configOption }: Model, name: string, press: string, words: Words): Line {
  const command = shellLine([words], configOption);
  return isReadOnly ? step(name, false, command) : step(name, false, press, `  or ${command}`);
}
