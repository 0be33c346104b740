/**
 * Packs commands and replies into the flat arrays that are sent between threads, and unpacks them. Within a thread, where
 * nothing is copied, they stay as they are. Pure.
 */
import { Layout } from '../core/layout.ts';
import type { RateFigures } from '../core/limits.ts';
import { SETTLEMENT } from '../state/journal.ts';
import type { Admission, AdmissionRequest, Grant, Growth } from './ledger.ts';
import type { Envelope, PackedCommand, PackedReply, Reply } from './protocol.ts';

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

export function packCommand({ ticket, command }: Envelope, isLocal = false): PackedCommand {
  if (isLocal) return [ticket, 'other', command];
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

export function unpackCommand([ticket, kind, sent]: PackedCommand): Envelope {
  switch (kind) {
    case 'admit':
      return { ticket, command: { kind, request: ADMISSION.record(sent) } };
    case 'settle':
      return { ticket, command: { kind, settlement: SETTLEMENT.record(sent) } };
    case 'grow':
      return { ticket, command: { kind, growth: GROWTH.record(sent) } };
    case 'other':
      return { ticket, command: sent };
  }
}

/** `command` is the one that the reply answers. */
export function packReply({ command }: Envelope, reply: Reply, isLocal = false): PackedReply {
  const { ticket } = reply;
  if ('unavailable' in reply) return [ticket, 'unavailable', reply.unavailable];
  const { answer } = reply;
  if (isLocal) return [ticket, 'other', answer];
  if (command.kind === 'settle') return [ticket, 'settled', FIGURES.values(answer as RateFigures)];
  const grant = command.kind === 'grow' ? (answer as Grant) : undefined;
  if (grant?.granted) return [ticket, 'granted', [grant.holdNanos, grant.leftNanos]];
  const admission = command.kind === 'admit' ? (answer as Admission) : undefined;
  if (admission?.admitted && admission.fallbacks === undefined && admission.groups === undefined) {
    return [ticket, 'admitted', FIGURES.values(admission.figures)];
  }
  return [ticket, 'other', answer];
}

export function unpackReply([ticket, kind, sent]: PackedReply): Reply {
  switch (kind) {
    case 'admitted':
      return { ticket, answer: { admitted: true, figures: FIGURES.record(sent) } };
    case 'settled':
      return { ticket, answer: FIGURES.record(sent) };
    case 'granted':
      return { ticket, answer: { granted: true, holdNanos: sent[0], leftNanos: sent[1] } };
    case 'other':
      return { ticket, answer: sent };
    case 'unavailable':
      return { ticket, unavailable: sent };
  }
}
