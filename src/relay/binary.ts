/** Relays non-JSON answers, such as audio. Their bytes are sent unchanged. */
import { type AnswerFacts, NO_FACTS } from '../dialects/answer.ts';
import { type Attempt, UpstreamFailure } from '../upstream/attempt.ts';
import { holdsCredential } from '../wire/secrets.ts';
import { errorForFailure, readAll } from './failures.ts';
import { invalidResponse, type JsonOptions, MAX_RESPONSE_BYTES, unreadable } from './json.ts';
import type { Meter } from './meter.ts';
import type { RelayResult, StreamSink } from './relay.ts';

export interface BytesOptions {
  /** Reads the work that the whole answer reports. */
  read(answer: Buffer): AnswerFacts;
  /** Whether chunks are passed on as they arrive, because the answer is not billed by its content. */
  readonly isPassedOn: boolean;
}

/** About six hours of PCM. Passing it on buffers only one chunk. */
const MAX_PASSED_BYTES = 1024 * 1024 * 1024;

export async function relayBytes(
  attempt: Attempt,
  sink: StreamSink,
  meter: Meter,
  type: string,
  { read, isPassedOn }: BytesOptions,
  options: JsonOptions,
): Promise<RelayResult> {
  const contentType = CONTENT_TYPE.exec(type)?.[0] ?? 'application/octet-stream';
  if (isPassedOn) return passOn(attempt, sink, meter, contentType);
  const body = await readAll(attempt, MAX_RESPONSE_BYTES);
  if (body === undefined) {
    attempt.abort();
    return unreadable(meter, options.dialect, `the response exceeds ${MAX_RESPONSE_BYTES} bytes`);
  }
  meter.readWhole(read(body));
  if (holdsCredential(body.toString('latin1'), options.secrets)) {
    return invalidResponse(meter, options.dialect, 'the response holds a credential');
  }
  return { metered: meter.figures(), termination: { kind: 'bytes', body, contentType }, note: undefined };
}

/** The part of the host's Content-Type that is passed on to clients. */
const CONTENT_TYPE =
  /^(?:audio|video|text|application)\/[\w.+-]{1,64}(?:; ?(?:charset|rate|channels|codecs)=[\w.-]{1,32})*/i;

/** Passes on all but the last chunk, which waits for the settlement. */
async function passOn(attempt: Attempt, sink: StreamSink, meter: Meter, contentType: string): Promise<RelayResult> {
  let bytes = 0;
  let last: Buffer | undefined;
  const end = (error?: UpstreamFailure): RelayResult => {
    if (!sink.started) sink.start(contentType);
    return {
      metered: meter.figures(),
      termination: {
        kind: 'stream_end',
        error: error && errorForFailure(error),
        end: last ?? Buffer.alloc(0),
      },
      note: error?.message,
      unseen: error && 'answer',
    };
  };
  try {
    for (let chunk = await attempt.next(); chunk !== undefined; chunk = await attempt.next()) {
      if (last === undefined) meter.readWhole({ ...NO_FACTS, choices: 1, isWithoutOutput: true });
      else {
        if (!sink.started) sink.start(contentType);
        await sink.write(last);
      }
      last = chunk;
      bytes += chunk.length;
      if (bytes > MAX_PASSED_BYTES)
        throw new UpstreamFailure('broken', `the response exceeds ${MAX_PASSED_BYTES} bytes`);
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure) || !sink.started) throw error;
    attempt.abort();
    return end(error);
  }
  return end();
}
