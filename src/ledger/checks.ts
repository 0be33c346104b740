/** Preconditions of commands. A command that violates one is an internal error. */
import { invariant } from '../core/invariant.ts';
import type { Settlement } from '../core/settlement.ts';
import { cacheWritesOf } from '../core/usage.ts';
import type { AdmissionRequest, Growth } from './ledger.ts';
import type { Command } from './protocol.ts';

/** Throws an InvariantError if a command contains an impossible amount or token count. */
export function checkCommand(command: Command): void {
  if (command.kind === 'admit') checkAdmission(command.request);
  else if (command.kind === 'forecast') for (const request of command.question.requests) checkAdmission(request);
  else if (command.kind === 'settle') checkSettlement(command.settlement);
  else if (command.kind === 'grow') checkGrowth(command.growth);
}

function checkAdmission(request: AdmissionRequest): void {
  const { requestId, reservedTokens, inputTokens, outputTokens, holdNanos, user } = request;
  invariant(requestId !== '', () => 'a request asks for admission without an id');
  invariant(
    user === undefined || (user !== '' && user.isWellFormed()),
    () => `request ${requestId}: no end user has that name`,
  );
  checkTokens(requestId, 'reservedTokens', reservedTokens);
  checkTokens(requestId, 'inputTokens', inputTokens);
  checkTokens(requestId, 'outputTokens', outputTokens);
  checkNanos(requestId, 'holdNanos', holdNanos);
}

function checkGrowth({ requestId, outputTokens, holdNanos }: Growth): void {
  checkTokens(requestId, 'outputTokens', outputTokens);
  checkNanos(requestId, 'holdNanos', holdNanos);
}

function checkSettlement({ requestId, usage, costNanos, served }: Settlement): void {
  const { promptTokens, cachedTokens, completionTokens } = usage;
  checkTokens(requestId, 'promptTokens', promptTokens);
  checkTokens(requestId, 'cachedTokens', cachedTokens);
  checkTokens(requestId, 'completionTokens', completionTokens);
  const cacheWriteTokens = cacheWritesOf(usage);
  checkTokens(requestId, 'cacheWriteTokens', cacheWriteTokens);
  invariant(
    cachedTokens + cacheWriteTokens <= promptTokens,
    () =>
      `request ${requestId}: ${cachedTokens} cached and ${cacheWriteTokens} written of ${promptTokens} input tokens`,
  );
  checkNanos(requestId, 'costNanos', costNanos);
  invariant(
    served === undefined || served.attempts >= 1,
    () => `request ${requestId} was served in ${served?.attempts} attempts`,
  );
}

function checkTokens(requestId: string, name: string, tokens: number): void {
  invariant(
    Number.isSafeInteger(tokens) && tokens >= 0,
    () => `request ${requestId}: ${name} is ${tokens}, not a non-negative integer`,
  );
}

function checkNanos(requestId: string, name: string, nanos: bigint): void {
  invariant(nanos >= 0n, () => `request ${requestId}: ${name} is ${nanos}, which is negative`);
}
