/** Upstreams of a provider that respond on command, and a clock that is moved by hand. */
import { setImmediate as turn } from 'node:timers/promises';
import { Attempt, UpstreamFailure } from '../../../src/upstream/attempt.ts';
import { type Member, Provider } from '../../../src/upstream/provider.ts';
import type { UpstreamCall } from '../../../src/upstream/upstream.ts';
import { NO_SECRETS } from '../../../src/wire/secrets.ts';

/** A call of a model. */
export const callFor = (model: string): UpstreamCall =>
  ({ request: {}, model, capTokens: undefined, headers: {} }) as unknown as UpstreamCall;
const NOBODY: ReadonlySet<Member> = new Set();
export const SOURCE = { pause() {}, resume() {}, abort() {} };

/** How an attempt ends: a status, perhaps with `Retry-After` in seconds, or a failure. */
export type Fate =
  | number
  | readonly [status: number, retryAfterS: number]
  | 'unreachable'
  | 'no_socket'
  | 'broken'
  | 'aborted';

export function meet(attempt: Attempt, fate: Fate): void {
  if (fate === 'unreachable') return attempt.fail(new UpstreamFailure('not_connected', 'connection refused'));
  if (fate === 'no_socket') return attempt.fail(new UpstreamFailure('no_socket', 'connect EMFILE'));
  attempt.begin(SOURCE);
  if (fate === 'broken') return attempt.fail(new UpstreamFailure('broken', 'reset'));
  if (fate === 'aborted') return attempt.abort();
  const [status, retryAfterS] = typeof fate === 'number' ? [fate, undefined] : fate;
  const retryAfter = retryAfterS === undefined ? undefined : String(retryAfterS);
  attempt.receiveHead({ status, contentType: '', isEncoded: false, retryAfter });
}

/** Upstreams that respond on command, and a clock that is moved by hand. */
export class Bench {
  readonly provider: Provider;
  nowMs = 1_000;
  readonly #attempts: Attempt[] = [];

  constructor(weights: readonly number[], tracksHealth = true) {
    const upstreams = weights.map((weight, i) => ({
      name: `p#${i + 1}`,
      weight,
      upstream: {
        secrets: { ...NO_SECRETS, parts: ['shared', `secret-${i + 1}`], credentials: [`key-${i + 1}`] },
        ask: () => new Attempt(),
        attempt: () => {
          const attempt = new Attempt();
          this.#attempts.push(attempt);
          return attempt;
        },
        close: async () => {},
      },
    }));
    this.provider = new Provider(upstreams, { onDisconnect: 'abort', tracksHealth }, () => this.nowMs);
  }

  member(place = 0): Member {
    return this.provider.members[place] as Member;
  }

  /**
   * Sends a request to the upstream that is picked, and leaves it open; undefined if none is
   * eligible.
   */
  ask(model = 'm', isLastResort = false): { name: string; attempt: Attempt } | undefined {
    const member = this.provider.pick(model, NOBODY, isLastResort ? 'last_resort' : 'available');
    if (member === undefined) return undefined;
    return { name: member.name, attempt: member.attempt(callFor(model)) };
  }

  /** Sends a request to an upstream, and ends it with this fate. */
  async visit(fate: Fate, { model = 'm', place = 0 } = {}): Promise<void> {
    meet(this.member(place).attempt(callFor(model)), fate);
    this.member(place).release();
    await turn();
  }

  async visits(count: number, fate: Fate, where = {}): Promise<void> {
    for (let i = 0; i < count; i++) await this.visit(fate, where);
  }

  /** The upstream that would be picked among the available ones. */
  picked(model = 'm'): string | undefined {
    return this.provider.pick(model, NOBODY, 'available')?.name;
  }

  isLastResort(model = 'm'): boolean {
    return this.provider.pick(model, NOBODY, 'last_resort') !== undefined;
  }
}
