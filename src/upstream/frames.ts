/** Reads responses of Amazon's hosts in frames (`application/vnd.amazon.eventstream`) as server-sent events. */
import { BEDROCK_TIER_HEADER } from '../core/price-tiers.ts';
import { eventOf, FRAMES_TYPE, type Frame } from '../providers/bedrock.ts';
import { MAX_EVENT_BYTES } from '../wire/sse.ts';
import { type ResponseHead, UpstreamFailure } from './attempt.ts';
import type { Decoded, ResponseDecoder } from './host-pool.ts';

/** Decodes a frame. Throws an Error unless its checksums are right. */
export type DecodeFrame = (frame: Uint8Array) => Frame;

/** The most that Amazon's hosts put into a frame: 16 MB, headers of 128 KB, and what is around them. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024 + 128 * 1024 + 16;
/** Two lengths with their checksum, and that of all. */
const MIN_FRAME_BYTES = 16;
/** A frame begins with its length. */
const LENGTH_BYTES = 4;

const DATA = Buffer.from('data: ');

/** Reads one response. Other content types than frames pass unchanged. */
export class FrameDecoder implements ResponseDecoder {
  readonly #decode: DecodeFrame;
  readonly #isTierInHead: boolean;
  #isFramed = false;
  /** What has arrived of the frame that is not complete. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** What that frame needs, or its length while that is not known. */
  #needed = LENGTH_BYTES;

  /** `isTierInHead`: whether only the head reports the tier of Amazon. A model reports the tier of its own vendor. */
  constructor(decode: DecodeFrame, isTierInHead: boolean) {
    this.#decode = decode;
    this.#isTierInHead = isTierInHead;
  }

  head(head: ResponseHead, headers: Readonly<Record<string, string | string[] | undefined>>): ResponseHead {
    this.#isFramed = head.contentType.toLowerCase().startsWith(FRAMES_TYPE);
    // It comes with the status of what is wrong with a request.
    const isQuota = String(headers['x-amzn-errortype']).startsWith('ServiceQuotaExceededException');
    const served = headers[BEDROCK_TIER_HEADER];
    return {
      ...head,
      ...((this.#isTierInHead || served !== undefined) && { tier: { served: served?.toString() } }),
      contentType: this.#isFramed ? 'text/event-stream' : head.contentType,
      status: isQuota && head.status === 400 ? 429 : head.status,
    };
  }

  push(chunk: Buffer): Decoded {
    if (!this.#isFramed) return { bytes: chunk, failure: undefined };
    this.#pieces.push(chunk);
    this.#bytes += chunk.length;
    const events: string[] = [];
    const failure = this.#readInto(events);
    return { bytes: Buffer.from(events.join('')), failure };
  }

  end(): Decoded {
    if (this.#bytes === 0) return { bytes: Buffer.alloc(0), failure: undefined };
    const text = Buffer.concat(this.#pieces)
      .toString('latin1')
      .replaceAll(/[\r\n]/g, ' ');
    this.#keep(Buffer.alloc(0));
    // No more than an event may have, of which nothing is passed on before it is complete.
    const bytes = Buffer.concat([DATA, Buffer.from(text, 'latin1')]).subarray(0, MAX_EVENT_BYTES / 2);
    return { bytes, failure: new UpstreamFailure('broken', 'the stream ended within a frame') };
  }

  /** Reads the frames that are complete. Of those before a wrong one, the events stand. */
  #readInto(events: string[]): UpstreamFailure | undefined {
    try {
      while (this.#bytes >= this.#needed) {
        const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
        this.#needed = lengthOf(all);
        const isComplete = all.length >= this.#needed;
        if (isComplete) events.push(this.#eventOf(all.subarray(0, this.#needed)));
        this.#keep(isComplete ? all.subarray(this.#needed) : all);
        if (isComplete) this.#needed = LENGTH_BYTES;
      }
      return undefined;
    } catch (error) {
      if (error instanceof UpstreamFailure) return error;
      throw error;
    }
  }

  #keep(rest: Buffer): void {
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }

  #eventOf(frame: Buffer): string {
    try {
      return eventOf(this.#decode(frame));
    } catch (error) {
      throw new UpstreamFailure('broken', `a frame of the stream is damaged: ${String(error)}`, 'a damaged frame');
    }
  }
}

function lengthOf(frame: Buffer): number {
  const length = frame.readUInt32BE(0);
  if (length >= MIN_FRAME_BYTES && length <= MAX_FRAME_BYTES) return length;
  throw new UpstreamFailure('broken', `a frame of the stream says that it has ${length} bytes`);
}
