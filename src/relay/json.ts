/** Relays an answer that comes in one piece: its bytes go out as they are, once they have proved to be an answer. */

import { isObject, parseJson } from '../core/json.ts';
import type { Attempt } from '../upstream/attempt.ts';
import { readAnswer } from '../wire/completion.ts';
import { isErrorValue } from '../wire/upstream-error.ts';
import { errorWithin, NOT_THE_PROTOCOL, readAll } from './failures.ts';
import type { Meter } from './meter.ts';
import { NO_WORK, type RelayResult } from './relay.ts';

/** The longest answer that is taken. Pictures in base64 make the longest ones. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Reads the answer to its end. Throws an UpstreamFailure where it has none. */
export async function relayJson(attempt: Attempt, meter: Meter, secrets: readonly string[]): Promise<RelayResult> {
  const body = await readAll(attempt, MAX_ANSWER_BYTES);
  if (body === undefined) {
    attempt.abort();
    return notTheProtocol(meter, `the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
  }
  const answer = parseJson(body.toString('utf8'))?.value;
  if (!isObject(answer)) return notTheProtocol(meter, 'the answer is not a JSON object');
  const facts = readAnswer(answer);
  if (isErrorValue(answer) && facts.choices === undefined) {
    return {
      metered: NO_WORK,
      termination: { kind: 'error', error: errorWithin(answer, secrets) },
      note: 'an error with status 200',
    };
  }
  meter.read(facts);
  if (facts.choices === undefined) return notTheProtocol(meter, 'the answer has no choices');
  return { metered: meter.figures(), termination: { kind: 'json', body }, note: undefined };
}

export function notTheProtocol(meter: Meter, note: string): RelayResult {
  return { metered: meter.figures(), termination: { kind: 'error', error: NOT_THE_PROTOCOL }, note };
}
