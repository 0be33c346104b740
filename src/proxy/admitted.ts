/** A request that was admitted, and how the board shows it while it runs. */
import { type Model, usageCost } from '../catalog/catalog.ts';
import type { Exchange } from '../http/exchange.ts';
import type { LiveRequest } from '../observe/monitor.ts';
import type { Meter } from '../relay/meter.ts';
import type { ChatRequest } from '../wire/request.ts';
import type { Dispatch } from './dispatch.ts';
import type { Route } from './plan.ts';

export interface Admitted {
  readonly exchange: Exchange;
  readonly request: ChatRequest;
  readonly model: Model;
  /** The model itself, and those that may serve in its place. */
  readonly routes: readonly Route[];
  readonly meter: Meter;
  /** Undefined until it is sent upstream. */
  dispatch?: Dispatch;
}

export function liveRequestOf(admitted: Admitted): LiveRequest {
  const { exchange, request, model: asked, meter } = admitted;
  return {
    id: exchange.requestId,
    keyId: exchange.keyId ?? '',
    model: asked.id,
    stream: request.stream,
    admittedAtMs: Date.now(),
    figures: () => {
      const { usage, source } = meter.figures();
      const model = admitted.dispatch?.model ?? asked;
      return { usage, source, costNanos: usageCost(model, usage), firstByteMs: admitted.dispatch?.firstByteMs };
    },
    served: () => admitted.dispatch?.served,
    stop: () => {
      admitted.dispatch?.abort('stopped');
      // A client that does not read would keep it for as long as it likes.
      exchange.stopWaitingForReader();
    },
  };
}
