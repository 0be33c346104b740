/** Starts the ledger engine of a gateway, in a process of its own that was started with `--expose-gc`. */
import { once } from 'node:events';
import { openSharedEngine } from '../../src/ledger/shared/shared-engine.ts';
import type { StartReport } from './messages.ts';
import { optionsOf } from './options.ts';

const IGNORED = () => {};
const EVENTS = {
  onFault: IGNORED,
  onStops: IGNORED,
  onDeaths: IGNORED,
  onDifference: IGNORED,
  onNonsense: IGNORED,
  onLostLog: IGNORED,
  onUncharged: IGNORED,
};

/** After what nobody needs is gone. */
function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

const [url] = (await once(process, 'message')) as [string];
const options = optionsOf(url, 'started');
const before = heapBytes();
const startedAtMs = performance.now();
const engine = await openSharedEngine(options.state.address, options.state.node, options, EVENTS);
await engine.recover();
const startMs = performance.now() - startedAtMs;
process.send?.({ startMs, heapBytes: heapBytes() - before } satisfies StartReport);
await engine.close();
process.disconnect?.();
