/** Packs commands and replies into flat arrays for messages between threads, and unpacks them. Pure. */
import { Layout } from '../core/layout.ts';
import type { RateFigures } from '../core/limits.ts';
import { SETTLEMENT } from '../state/journal.ts';
import type { Admission, AdmissionRequest, Grant, Growth } from './ledger.ts';
import { type Answer, type Command, isUnavailable, type PackedCommand, type PackedReply } from './protocol.ts';

const ADMISSION = new Layout<Omit<AdmissionRequest, 'fallbacks'>>({
  requestId: 'text',
  keyHash: 'text',
  model: 'text',
  reservedTokens: 'number',
  inputTokens: 'number',
  outputTokens: 'number',
  holdNanos: 'nanos',
  price: 'text',
  stream: 'flag',
  user: 'text',
});

const GROWTH = new Layout<Growth>({ requestId: 'text', outputTokens: 'number', holdNanos: 'nanos' });

const FIGURES = new Layout<RateFigures>({
  limitRequests: 'number',
  remainingRequests: 'number',
  resetRequestsS: 'number',
  limitTokens: 'number',
  remainingTokens: 'number',
  resetTokensS: 'number',
});

export function packCommand(ticket: number, command: Command): PackedCommand {
  switch (command.kind) {
    case 'admit':
      if (command.request.fallbacks !== undefined) return [ticket, 'other', command];
      return [ticket, 'admit', ADMISSION.values(command.request)];
    case 'settle':
      return [ticket, 'settle', SETTLEMENT.values(command.settlement)];
    case 'grow':
      return [ticket, 'grow', GROWTH.values(command.growth)];
    default:
      return [ticket, 'other', command];
  }
}

export function unpackCommand([, kind, sent]: PackedCommand): Command {
  switch (kind) {
    case 'admit':
      return { kind, request: ADMISSION.record(sent) };
    case 'settle':
      return { kind, settlement: SETTLEMENT.record(sent) };
    case 'grow':
      return { kind, growth: GROWTH.record(sent) };
    case 'other':
      return sent;
  }
}

/** Packs the answer to `command`. */
export function packReply(ticket: number, command: Command, answer: Answer): PackedReply {
  if (isUnavailable(answer)) return [ticket, 'unavailable', answer.unavailable];
  if (command.kind === 'settle') return [ticket, 'settled', FIGURES.values(answer as RateFigures)];
  const grant = command.kind === 'grow' ? (answer as Grant) : undefined;
  if (grant?.granted) return [ticket, 'granted', [grant.holdNanos, grant.leftNanos]];
  const admission = command.kind === 'admit' ? (answer as Admission) : undefined;
  if (admission?.admitted && admission.fallbacks === undefined && admission.groups === undefined) {
    return [ticket, 'admitted', FIGURES.values(admission.figures)];
  }
  return [ticket, 'other', answer];
}

export function unpackReply([, kind, sent]: PackedReply): Answer {
  switch (kind) {
    case 'admitted':
      return { admitted: true, figures: FIGURES.record(sent) };
    case 'settled':
      return FIGURES.record(sent);
    case 'granted':
      return { granted: true, holdNanos: sent[0], leftNanos: sent[1] };
    case 'other':
      return sent;
    case 'unavailable':
      return { unavailable: sent };
  }
}
