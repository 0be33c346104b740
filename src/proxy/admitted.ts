/** An admitted request, and the facts that the monitor reads while it is in flight. */
import type { Model } from '../catalog/catalog.ts';
import { pricesFor, usageCost } from '../catalog/cost.ts';
import type { CachedAnswer } from '../core/cached-answers.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Admission } from '../ledger/ledger.ts';
import type { LiveRequest } from '../observe/monitor.ts';
import { Meter } from '../relay/meter.ts';
import type { Dispatch } from './dispatch.ts';
import type { DialectHeaders, Permitted, Plan, Route } from './plan.ts';
import { spentByOf } from './spent-by.ts';

export interface Admitted {
  readonly exchange: Exchange;
  readonly request: ModelRequest;
  /** Client headers to pass on to a host of the same dialect. */
  readonly headers: DialectHeaders;
  /** The end user; empty if the request names none. */
  readonly user: string;
  /** The groups that the request is booked to, from inside out; undefined without groups. */
  readonly groups: readonly string[] | undefined;
  /** The requested model. */
  readonly model: Model;
  /** The requested model, then the fallbacks that admission allowed. */
  readonly routes: readonly [Route, ...Route[]];
  readonly plan: Plan;
  readonly meter: Meter;
  /** Undefined until it is sent upstream. */
  dispatch?: Dispatch;
  /** The cached answer to send, if any. */
  cached?: CachedAnswer | undefined;
  /** Set once the operator has stopped the request. */
  isStopped?: true;
  /** Ends the wait for an equal request in flight. */
  wake?: () => void;
}

export function admittedRequest(
  exchange: Exchange,
  { request, headers, user }: Permitted,
  plan: Plan,
  { fallbacks = [], groups }: Pick<Extract<Admission, { admitted: true }>, 'fallbacks' | 'groups'>,
): Admitted {
  const [asked, ...others] = plan.routes;
  const routes = [asked, ...others.filter(({ model }) => fallbacks.includes(model.id))] as const;
  const meter = new Meter(asked.inputTokens, asked.hosted.request.audioBytesPerToken);
  return { exchange, request, headers, user, groups, model: asked.model, routes, plan, meter };
}

export function liveRequestOf(admitted: Admitted): LiveRequest {
  const { exchange, request, model: asked, meter } = admitted;
  return {
    id: exchange.requestId,
    keyId: exchange.keyId ?? '',
    groups: admitted.groups,
    model: asked.id,
    stream: request.stream,
    admittedAtMs: Date.now(),
    figures: () => {
      const { usage, source } = meter.figuresOfPart();
      const { model, hosted } = admitted.dispatch?.route ?? admitted.routes[0];
      return {
        usage,
        source,
        costNanos: usageCost(pricesFor(model, hosted.request.serviceTier), usage),
        firstByteMs: admitted.dispatch?.firstByteMs,
      };
    },
    served: () => admitted.dispatch?.served,
    spentBy: () => spentByOf(exchange.request.headers, admitted.user),
    stop: () => {
      admitted.isStopped = true;
      admitted.wake?.();
      admitted.dispatch?.abort('stopped');
      // A client that does not read could hold it open for as long as it likes.
      exchange.stopWaitingForReader();
    },
  };
}
