/** The steps of a past request: of an admitted one from its journal row, of a refused one from the gateway's memory. Pure. */
import { readPriceText } from '../core/charged-price.ts';
import { isoTime } from '../core/clock.ts';
import { ERROR_STATUS, type ErrorCode } from '../core/errors.ts';
import { type ExplainedStep, type Explanation, okStep } from '../core/explanation.ts';
import { formatUsd } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import type { Outcome } from '../core/settlement.ts';
import type { Refusal } from '../observe/refusals.ts';
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

/** Explains a refused request. Gateways keep the reason and its figures, and not the steps before it. */
export function explainRefused(refusal: Refusal, key: string): Explanation {
  const { code, reason, cause, model, key_id: keyId, at_ms: atMs } = refusal;
  const status = code in ERROR_STATUS ? ERROR_STATUS[code as ErrorCode] : null;
  return {
    status,
    code,
    message: `refused: ${cause}`,
    steps: [
      okStep('key', key, { key, key_id: keyId }),
      ...(model === '' ? [] : [okStep('model', model, { model })]),
      { step: reason, status: 'refused', message: cause, refused_at: isoTime(atMs) },
      okStep('refused', `at ${isoTime(atMs)}; not admitted, and not charged`, { refused_at: isoTime(atMs) }),
    ],
  };
}

function resultOf({ outcome, failure, firstByteMs }: RequestEnd): Pick<Explanation, 'status' | 'code' | 'message'> {
  if (outcome === 'ok') return { status: 200, code: null, message: 'answered' };
  if (!isErrorCode(outcome)) {
    const message = outcome === 'cancelled' ? 'the client hung up' : 'the gateway stopped before the request ended';
    return { status: null, code: outcome, message };
  }
  const message = failure?.message ?? 'answered with an error';
  // The journal does not record whether a response was streamed.
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
