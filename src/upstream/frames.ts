/** Converts framed responses of Amazon's hosts (`application/vnd.amazon.eventstream`) to server-sent events. */
import { BEDROCK_TIER_HEADER } from '../core/price-tiers.ts';
import { eventOf, FRAMES_TYPE, type Frame } from '../providers/bedrock.ts';
import { MAX_EVENT_BYTES } from '../wire/sse.ts';
import { type ResponseHead, UpstreamFailure } from './attempt.ts';
import type { Decoded, ResponseDecoder } from './host-pool.ts';

/** Decodes a frame. Throws an Error if a checksum is wrong. */
export type DecodeFrame = (frame: Uint8Array) => Frame;

/** Maximum length of a frame at Amazon's hosts: 16 MB of payload, 128 KB of headers, and lengths and checksums. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024 + 128 * 1024 + 16;
/** Two lengths with their checksum, and the checksum of the frame. */
const MIN_FRAME_BYTES = 16;
/** A frame begins with its length. */
const LENGTH_BYTES = 4;

const DATA = Buffer.from('data: ');

/** Converts one response. Other content types pass unchanged. */
export class FrameDecoder implements ResponseDecoder {
  readonly #decode: DecodeFrame;
  readonly #isTierInHead: boolean;
  #isFramed = false;
  /** The pieces of the incomplete frame. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** The length of the incomplete frame, or of its length field while the length is unknown. */
  #needed = LENGTH_BYTES;

  /**
   * `isTierInHead`: whether only the head reports Amazon's tier. The body of such a response contains the tier of the model's
   * vendor.
   */
  constructor(decode: DecodeFrame, isTierInHead: boolean) {
    this.#decode = decode;
    this.#isTierInHead = isTierInHead;
  }

  head(head: ResponseHead, headers: Readonly<Record<string, string | string[] | undefined>>): ResponseHead {
    this.#isFramed = head.contentType.toLowerCase().startsWith(FRAMES_TYPE);
    // Amazon sends this error with status 400, like an invalid request.
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
    // Within the limit of an event, which is passed on only when it is complete.
    const bytes = Buffer.concat([DATA, Buffer.from(text, 'latin1')]).subarray(0, MAX_EVENT_BYTES / 2);
    return { bytes, failure: new UpstreamFailure('broken', 'the stream ended within a frame') };
  }

  /** Decodes the complete frames. After a damaged frame, the earlier events are still valid. */
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
  throw new UpstreamFailure('broken', `a frame of the stream has an invalid length of ${length} bytes`);
}
