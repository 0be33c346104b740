/** What did happen to a request, step by step, as its row in the journal tells. Pure. */
import { readPriceText } from '../core/charged-price.ts';
import { isoTime } from '../core/clock.ts';
import { ERROR_STATUS, type ErrorCode } from '../core/errors.ts';
import { type ExplainedStep, type Explanation, okStep } from '../core/explanation.ts';
import { formatUsd } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import type { Outcome } from '../core/settlement.ts';
import { milliseconds } from '../operator/format.ts';
import { servedBy, servedModel } from '../operator/messages.ts';
import { priceOf, sourceOf } from '../operator/request-fields.ts';
import type { RequestEnd, RequestRecord } from '../state/requests.ts';

export function explainPast(request: RequestRecord): Explanation {
  const { end } = request;
  const steps = [...admissionSteps(request), ...(end === undefined ? [] : endSteps(request, end))];
  if (end === undefined) return { status: null, code: null, message: `${request.id} is in flight.`, steps };
  return { ...resultOf(end), steps };
}

function resultOf({ outcome, failure, firstByteMs }: RequestEnd): Pick<Explanation, 'status' | 'code' | 'message'> {
  if (outcome === 'ok') return { status: 200, code: null, message: 'It was answered.' };
  if (!isErrorCode(outcome)) {
    const message = outcome === 'cancelled' ? 'The client hung up.' : 'The gateway stopped before it ended.';
    return { status: null, code: outcome, message };
  }
  const message = failure?.message ?? 'It was answered with an error.';
  // The journal does not tell a stream from another answer.
  const begun = `${message.replace(/\.$/, '')}. Its answer had begun: a stream had status 200, and ended with this error.`;
  return { status: ERROR_STATUS[outcome], code: outcome, message: firstByteMs === undefined ? message : begun };
}

function isErrorCode(outcome: Outcome): outcome is ErrorCode {
  return outcome in ERROR_STATUS;
}

function admissionSteps(request: RequestRecord): ExplainedStep[] {
  const { key, keyId, requestedModel, admittedAtMs, holdNanos, price: text } = request;
  const price = text === undefined ? undefined : readPriceText(text);
  const hold = formatUsd(holdNanos);
  return [
    okStep('key', key, { key, key_id: keyId }),
    okStep('model', requestedModel, { model: requestedModel }),
    okStep('admission', `admitted at ${isoTime(admittedAtMs)}`, { admitted_at: isoTime(admittedAtMs) }),
    okStep('hold', `${hold} USD at the end`, { hold_usd: hold }),
    okStep('price', priceOf(request), {
      input_usd: price === undefined ? null : formatUsd(price.input),
      cached_input_usd: price === undefined ? null : formatUsd(price.cachedInput),
      output_usd: price === undefined ? null : formatUsd(price.output),
      price_file: price?.of ?? null,
      journal: text ?? null,
    }),
  ];
}

function endSteps(request: RequestRecord, end: RequestEnd): ExplainedStep[] {
  const { model, requestedModel, admittedAtMs } = request;
  const { upstream, attempts, outcome, failure, promptTokens, completionTokens, source, costNanos } = end;
  const isFailed = isErrorCode(outcome);
  const route =
    upstream === undefined
      ? 'no upstream was asked'
      : `${servedModel(model, requestedModel)} at ${servedBy(upstream, attempts)}`;
  return [
    okStep('route', route, {
      model,
      upstream: upstream ?? null,
      attempts: attempts ?? null,
      first_byte_ms: end.firstByteMs ?? null,
    }),
    {
      step: 'outcome',
      status: isFailed ? 'refused' : 'ok',
      message: `${outcome} after ${milliseconds(Math.max(0, end.settledAtMs - admittedAtMs))}${failure === undefined ? '' : `: ${failure.message}`}`,
      outcome,
      failure: failure === undefined ? null : { ...failure, status: failure.status ?? null },
    },
    okStep('usage', `${counted(promptTokens, 'token')} in, ${completionTokens} out; ${sourceOf(request, end)}`, {
      prompt_tokens: promptTokens,
      cached_tokens: end.cachedTokens,
      cache_write_tokens: end.cacheWriteTokens,
      completion_tokens: completionTokens,
      source,
    }),
    okStep('charge', `${formatUsd(costNanos)} USD`, { cost_usd: formatUsd(costNanos) }),
  ];
}
