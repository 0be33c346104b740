/** The load generator, a process of its own: does what it is ordered over IPC, one order at a time. */
import type { HoldResult, LoadOrder, LoadResult } from '../messages.ts';
import { Hold } from './hold.ts';
import { Run } from './run.ts';

let hold = new Hold();

async function obey(order: LoadOrder): Promise<LoadResult | HoldResult> {
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
  // Words are for the probe.
  if (typeof message !== 'string') process.send?.(await obey(message));
});
// The probe would let it end.
process.channel?.ref();
process.send?.('ready');
