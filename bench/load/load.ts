/** The load generator, in a process of its own: executes orders over IPC, one at a time. */
import type { HoldResult, LoadOrder, LoadResult } from '../messages.ts';
import { Hold } from './hold.ts';
import { Run } from './run.ts';

let hold = new Hold();

async function execute(order: LoadOrder): Promise<LoadResult | HoldResult> {
  switch (order.order) {
    case 'run':
      return new Run(order).measure();
    case 'hold':
      if (hold.isOver) hold = new Hold();
      return hold.open(order.streams, order);
    case 'count':
      return hold.count();
    case 'release':
      return hold.release();
  }
}

process.on('message', async (message: LoadOrder | string) => {
  // Strings are for the probe.
  if (typeof message !== 'string') process.send?.(await execute(message));
});
// The probe has unreferenced the channel; this process has to stay.
process.channel?.ref();
process.send?.('ready');
