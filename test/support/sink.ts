/** The client of a stream that is relayed without a connection. */
import type { StreamSink } from '../../src/relay/relay.ts';

/** It keeps up with whatever it is sent, and keeps that. */
export class CollectingSink implements StreamSink {
  readonly gone = false;
  readonly received: Buffer[] = [];
  started = false;

  start(): void {
    this.started = true;
  }

  write(bytes: Buffer): undefined {
    this.received.push(bytes);
  }

  /** All that it was sent, and then `end`. */
  text(end: Buffer | string = ''): string {
    return Buffer.concat([...this.received, Buffer.from(end)]).toString('utf8');
  }
}
