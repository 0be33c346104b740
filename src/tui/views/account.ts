/** The account, as labelled figures. */
import { NANOS_PER_USD } from '../../core/money.ts';
import { usd } from '../../operator/format.ts';
import { fit } from '../../operator/text.ts';
import { dim, type Line, span } from '../draw/line.ts';
import type { Model } from '../model.ts';
import { accountOf } from '../select.ts';

/** Columns for labels. */
export const LABEL = 14;

export function labelled(label: string, value: Line): Line {
  return [dim(fit(label, LABEL)), ...value];
}

export function account(model: Model): Line[] {
  const { creditEnforced } = model.stored;
  const { balanceNanos: balance, heldNanos: held } = accountOf(model);
  const isLow = creditEnforced && balance < NANOS_PER_USD;
  return [
    labelled('balance', [
      span(`${usd(balance)} USD`, { bold: true, ...(isLow && { tone: balance > 0n ? 'warn' : 'bad' }) }),
      dim(creditEnforced ? '' : '  not enforced'),
    ]),
    labelled('held', [{ text: `${usd(held)} USD` }]),
  ];
}
