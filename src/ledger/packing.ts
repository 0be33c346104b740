/** Packs commands and replies into the flat arrays that are sent between threads, and unpacks them. Pure. */
import type { Failure } from '../core/failure.ts';
import type { RateFigures } from '../core/limits.ts';
import type { Settlement } from '../core/settlement.ts';
import { cacheWritesOf, NO_PARTS } from '../core/usage.ts';
import type { Admission, Grant } from './ledger.ts';
import type { Envelope, Figures, PackedCommand, PackedFailure, PackedReply, Reply } from './protocol.ts';

export function packCommand({ ticket, command }: Envelope): PackedCommand {
  switch (command.kind) {
    case 'admit': {
      if (command.request.fallbacks !== undefined) return [ticket, 'other', command];
      const { requestId, keyHash, model, reservedTokens, inputTokens, outputTokens, holdNanos, stream, price } =
        command.request;
      const tokens = [reservedTokens, inputTokens, outputTokens] as const;
      return [ticket, 'admit', requestId, keyHash, model, ...tokens, holdNanos, stream, price];
    }
    case 'settle':
      return packSettlement(ticket, command.settlement);
    case 'grow': {
      const { requestId, outputTokens, holdNanos } = command.growth;
      return [ticket, 'grow', requestId, outputTokens, holdNanos];
    }
    default:
      return [ticket, 'other', command];
  }
}

function packSettlement(ticket: number, settlement: Settlement): PackedCommand {
  const { requestId, outcome, usage, source, costNanos, completionId, firstByteMs, served, failure, price, spentBy } =
    settlement;
  const { promptTokens, cachedTokens, completionTokens } = usage;
  return [
    ticket,
    'settle',
    requestId,
    outcome,
    promptTokens,
    cachedTokens,
    completionTokens,
    source,
    costNanos,
    completionId,
    firstByteMs,
    served && [served.model, served.upstream, served.attempts],
    failure && [failure.reason, failure.status, failure.message],
    cacheWritesOf(usage),
    price,
    spentBy && [spentBy.user, spentBy.tag, spentBy.app],
  ];
}

function unpackFailure([reason, status, message]: PackedFailure): Failure {
  return { reason, status, message };
}

export function unpackCommand(packed: PackedCommand): Envelope {
  switch (packed[1]) {
    case 'admit': {
      const [
        ticket,
        kind,
        requestId,
        keyHash,
        model,
        reservedTokens,
        inputTokens,
        outputTokens,
        holdNanos,
        stream,
        price,
      ] = packed;
      const tokens = { reservedTokens, inputTokens, outputTokens };
      const rest = { ...(stream !== undefined && { stream }), ...(price !== undefined && { price }) };
      const request = { requestId, keyHash, model, ...tokens, holdNanos, ...rest };
      return { ticket, command: { kind, request } };
    }
    case 'settle': {
      const [ticket, kind, requestId, outcome, promptTokens, cachedTokens, completionTokens, source, costNanos] =
        packed;
      const [, , , , , , , , , completionId, firstByteMs, by, why, cacheWriteTokens, price, names] = packed;
      const served = by && { model: by[0], upstream: by[1], attempts: by[2] };
      // The ledger needs no other part: the cost is known.
      const parts = cacheWriteTokens > 0 && { parts: { ...NO_PARTS, cacheWriteTokens } };
      const usage = { promptTokens, cachedTokens, completionTokens, ...parts };
      const failure = why && unpackFailure(why);
      const spentBy = names && { user: names[0], tag: names[1], app: names[2] };
      const rest = { spentBy, ...(price !== undefined && { price }) };
      const end = { outcome, usage, source, costNanos, completionId, firstByteMs, served, failure, ...rest };
      return { ticket, command: { kind, settlement: { requestId, ...end } } };
    }
    case 'grow': {
      const [ticket, kind, requestId, outputTokens, holdNanos] = packed;
      return { ticket, command: { kind, growth: { requestId, outputTokens, holdNanos } } };
    }
    case 'other':
      return { ticket: packed[0], command: packed[2] };
  }
}

/** `command` is the one that the reply answers. */
export function packReply({ command }: Envelope, reply: Reply): PackedReply {
  const { ticket } = reply;
  if ('unavailable' in reply) return [ticket, 'unavailable', reply.unavailable];
  const { answer } = reply;
  if (command.kind === 'settle') return [ticket, 'settled', ...figuresList(answer as RateFigures)];
  const grant = command.kind === 'grow' ? (answer as Grant) : undefined;
  if (grant?.granted) return [ticket, 'granted', grant.holdNanos];
  const admission = command.kind === 'admit' ? (answer as Admission) : undefined;
  if (admission?.admitted && admission.fallbacks === undefined) {
    return [ticket, 'admitted', ...figuresList(admission.figures)];
  }
  return [ticket, 'other', answer];
}

export function unpackReply(packed: PackedReply): Reply {
  const [ticket] = packed;
  switch (packed[1]) {
    case 'admitted':
      return { ticket, answer: { admitted: true, figures: figuresOf(packed) } };
    case 'settled':
      return { ticket, answer: figuresOf(packed) };
    case 'granted':
      return { ticket, answer: { granted: true, holdNanos: packed[2] } };
    case 'other':
      return { ticket, answer: packed[2] };
    case 'unavailable':
      return { ticket, unavailable: packed[2] };
  }
}

function figuresList(figures: RateFigures): Figures {
  const { limitRequests, remainingRequests, resetRequestsS, limitTokens, remainingTokens, resetTokensS } = figures;
  return [limitRequests, remainingRequests, resetRequestsS, limitTokens, remainingTokens, resetTokensS];
}

function figuresOf(packed: readonly [ticket: number, kind: 'admitted' | 'settled', ...figures: Figures]): RateFigures {
  const [, , limitRequests, remainingRequests, resetRequestsS, limitTokens, remainingTokens, resetTokensS] = packed;
  return { limitRequests, remainingRequests, resetRequestsS, limitTokens, remainingTokens, resetTokensS };
}
