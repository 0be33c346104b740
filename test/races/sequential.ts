/**
 * Rounds of clients that may have one request at a time, and send the next as soon as they have
 * read the end of a stream.
 */
import { chat, type TestKey } from '../support/gateway.ts';
import { assertNothingHeld, faultsInBooks, probe } from './aftermath.ts';
import { AMPLE_ALLOWANCE } from './allowance.ts';
import type { RaceClient } from './client.ts';
import { type Attempt, Host } from './host.ts';
import type { RoundPlan } from './plan.ts';
import type { RoundResult } from './round.ts';
import type { Stage } from './stage.ts';

/**
 * The number of such clients at most. Each has a key of its own, and sends as many streams as the
 * plan says.
 */
const MOST_CHAINS = 8;
/** The end of a stream, after which a client library reads nothing more. */
const END = 'data: [DONE]\n\n';

/**
 * Every stream is admitted, though it is sent right after the end of the previous one, on another
 * connection.
 */
export async function runSequentialRound(stage: Stage, plan: RoundPlan): Promise<RoundResult> {
  const { random, size } = plan;
  const chains = random.between(1, size > 100 ? 2 : MOST_CHAINS);
  const terms = { ...AMPLE_ALLOWANCE, limits: { ...AMPLE_ALLOWANCE.limits, concurrency: 1 } };
  const all = Array.from({ length: chains }, () => stage.newBounded('sequential', terms));
  const round = new SequentialRound(stage, plan, chains);
  try {
    stage.setBalance(AMPLE_ALLOWANCE.balanceNanos);
    stage.gateway.upstream.follow((call) => round.host.receive(call));
    await Promise.all(all.flatMap(({ keys }) => keys.map((key) => round.sendAll(key))));
    for (const each of all) await assertNothingHeld(stage, each);
    if (round.host.arrivals !== chains * size)
      round.deviations.push(`the host received ${round.host.arrivals} requests`);
    for (const each of all) round.deviations.push(...(await probe(stage, each)));
    round.deviations.push(...(await faultsInBooks(stage)));
  } catch (error) {
    round.deviations.push(String(error));
  }
  const deviations = [...round.deviations, ...round.host.deviations];
  return { attempts: round.attempts.size, admitted: round.admitted, deviations };
}

class SequentialRound {
  readonly host: Host;
  readonly attempts = new Map<string, Attempt>();
  readonly deviations: string[] = [];
  admitted = 0;
  readonly #stage: Stage;
  readonly #plan: RoundPlan;

  constructor(stage: Stage, plan: RoundPlan, chains: number) {
    this.#stage = stage;
    this.#plan = plan;
    this.host = new Host({
      random: plan.random,
      batch: 1,
      mayBeSmaller: true,
      mostRefusals: 0,
      attempt: (name) => this.attempts.get(name),
      boundFor: () => chains,
      onArrival: () => {},
      areAllHere: () => true,
    });
  }

  async sendAll(key: TestKey): Promise<void> {
    const clients = [await this.#stage.client(), await this.#stage.client()] as const;
    for (let i = 0; i < this.#plan.size; i++) await this.#send(key, clients[i % 2] as RaceClient);
    for (const client of clients) {
      await client.ready();
      this.#stage.giveBack(client);
    }
  }

  async #send(key: TestKey, client: RaceClient): Promise<void> {
    const { declaredTokens } = this.#plan;
    const name = `attempt-${this.attempts.size + 1}`;
    const attempt = {
      name,
      stream: true,
      declares: true,
      leaves: false,
      afterChange: false,
      outputTokens: declaredTokens,
    };
    this.attempts.set(name, attempt);
    const body = chat({ user: name, stream: true, max_tokens: declaredTokens });
    const request = this.#stage.gateway.rawCompletion(key, body);
    const { status, text } = await client.send(request, (_, read) => read.includes(END));
    if (status === 200) this.admitted++;
    else this.deviations.push(`a stream that came after the end of another one got ${text}`);
  }
}
