/**
 * One round: many clients compete for what a limit admits, and everything is counted on both sides.
 */
import { chat } from '../support/gateway.ts';
import { bounded } from '../support/wait.ts';
import { assertNothingHeld, faultsInBooks, probe } from './aftermath.ts';
import { type Allowance, allowanceFor } from './allowance.ts';
import type { Bounded } from './bounded.ts';
import { type Answer, RaceClient } from './client.ts';
import { type Attempt, Host, type HostRules } from './host.ts';
import type { Limit, RoundPlan } from './plan.ts';
import { type Admitted, isUsedUp, misfits } from './replay.ts';
import { runSequentialRound } from './sequential.ts';
import type { Stage } from './stage.ts';

export interface RoundResult {
  readonly attempts: number;
  readonly admitted: number;
  readonly deviations: readonly string[];
}

/** How many times its hold a request without a declared maximum uses at most. */
const MOST_TIMES_HELD = 30;
const LEAST_BATCHES = 2;
/** The number of turns of the event loop that a client without a slot waits at most. */
const MOST_TURNS_OF_REST = 20;
/** A round ends after this multiple of the planned attempts, even if something is still missing. */
const MOST_TIMES_PLANNED = 10;

/** Runs a round on a stage with the setting that its variant needs. Never throws. */
export async function runRound(stage: Stage, plan: RoundPlan): Promise<RoundResult> {
  return plan.variant === 'sequential' ? runSequentialRound(stage, plan) : new Round(stage, plan).run();
}

class Round {
  readonly #stage: Stage;
  readonly #plan: RoundPlan;
  readonly #allowance: Allowance;
  readonly #bounded: Bounded;
  readonly #host: Host;
  readonly #rules: HostRules;
  readonly #attempts = new Map<string, Attempt>();
  /** By request id. */
  readonly #admitted = new Map<string, Attempt>();
  readonly #deviations: string[] = [];
  readonly #changed = Promise.withResolvers<void>();
  #attemptsLeft: number;
  /** The number of requests admitted before the limit had changed. */
  #admittedAtChange: number | undefined;

  constructor(stage: Stage, plan: RoundPlan) {
    this.#stage = stage;
    this.#plan = plan;
    this.#attemptsLeft = plan.attempts;
    this.#allowance = allowanceFor(plan.limit, plan.size, plan);
    this.#bounded = stage.newBounded(plan.variant, this.#allowance);
    this.#rules = {
      random: plan.random,
      // Few clients must not wait for a batch that they cannot fill.
      batch: plan.limit !== 'concurrency' && plan.change !== undefined ? 1 : plan.batch,
      mayBeSmaller: plan.limit !== 'concurrency',
      mostRefusals: plan.clients - (plan.limit === 'concurrency' ? plan.size : 0),
      attempt: (name) => this.#attempts.get(name),
      boundFor: (attempt) => this.#boundFor(attempt),
      onArrival: (arrivals) => {
        if (arrivals === plan.change?.atArrival) this.#changeLimit(plan.change.size);
      },
      areAllHere: (present) => stage.holds(this.#bounded) === present,
    };
    this.#host = new Host(this.#rules);
  }

  async run(): Promise<RoundResult> {
    try {
      await this.#race();
      await assertNothingHeld(this.#stage, this.#bounded);
      this.#checkCounts();
      this.#checkRows();
      this.#deviations.push(...(await probe(this.#stage, this.#bounded)), ...(await faultsInBooks(this.#stage)));
    } catch (error) {
      this.#deviations.push(String(error));
    }
    const deviations = [...this.#deviations, ...this.#host.deviations];
    return { attempts: this.#attempts.size, admitted: this.#admitted.size, deviations };
  }

  async #race(): Promise<void> {
    this.#stage.setBalance(this.#allowance.balanceNanos);
    this.#stage.gateway.upstream.follow((call) => this.#host.receive(call));
    const clients = await this.#stage.clients(this.#plan.clients);
    const early = this.#plan.change?.earlyClients ?? clients.length;
    const drivers = clients.slice(0, early).map((client) => this.#drive(client));
    if (clients.length > early) {
      const lateDrivers = () => clients.slice(early).map((client) => this.#drive(client));
      drivers.push(...(await bounded(this.#changed.promise.then(lateDrivers), 'the limit was changed')));
    }
    await Promise.all(drivers);
  }

  /**
   * While slots are taken, clients that retry at once would leave the gateway no time to reach the
   * host.
   */
  async #breathe(): Promise<void> {
    if (this.#plan.limit !== 'concurrency') return;
    for (let turns = this.#plan.random.between(0, MOST_TURNS_OF_REST); turns > 0; turns--)
      await new Promise(setImmediate);
  }

  /**
   * In a race for slots, the attempts continue until all slots were seen taken twice, within
   * reason.
   */
  #goesOn(): boolean {
    if (this.#attemptsLeft > 0) return true;
    const { limit, attempts } = this.#plan;
    if (limit !== 'concurrency' || this.#attempts.size >= MOST_TIMES_PLANNED * attempts) return false;
    return this.#host.batches < LEAST_BATCHES || this.#host.peak < this.#rules.batch;
  }

  /** Sends one request after another until all attempts are made. */
  async #drive(connected: RaceClient): Promise<void> {
    let client = connected;
    try {
      while (this.#goesOn()) {
        this.#attemptsLeft--;
        const attempt = this.#drawAttempt();
        const answer = await client.send(this.#requestFor(attempt), (status) => attempt.leaves && status === 200);
        this.#take(attempt, answer);
        if (answer.status !== 200) await this.#breathe();
        if (!attempt.leaves || answer.status !== 200) continue;
        client.leave();
        client = await RaceClient.open(this.#stage.gateway.port);
      }
    } catch (error) {
      this.#deviations.push(String(error));
    }
    this.#stage.giveBack(client);
    this.#host.drain();
  }

  #drawAttempt(): Attempt {
    const { random, variant, declaredTokens } = this.#plan;
    const declares = !(variant === 'undeclared' || variant === 'capped') || random.chance(0.5);
    const leaves = variant === 'hang-ups' && random.chance(0.5);
    const attempt = {
      name: `attempt-${this.#attempts.size + 1}`,
      stream: leaves || random.chance(0.5),
      declares,
      leaves,
      outputTokens: declares ? declaredTokens : random.between(declaredTokens, MOST_TIMES_HELD * declaredTokens),
      afterChange: this.#admittedAtChange !== undefined,
    };
    this.#attempts.set(attempt.name, attempt);
    return attempt;
  }

  #requestFor({ name, stream, declares }: Attempt): string {
    const maximum = declares ? { max_tokens: this.#plan.declaredTokens } : {};
    const { keys, headers } = this.#bounded;
    const key = this.#plan.random.pick(keys);
    return this.#stage.gateway.rawCompletion(key, chat({ user: name, stream, ...maximum }), headers);
  }

  #take(attempt: Attempt, answer: Answer): void {
    if (answer.status === 200) {
      this.#admitted.set(/^x-request-id: (\S+)/im.exec(answer.text)?.[1] ?? '', attempt);
      return;
    }
    const problem = problemOfRefusal(answer, this.#plan.limit);
    if (problem !== undefined) this.#deviations.push(problem);
    this.#host.refused();
  }

  /** Changes the limit as another process would, in the middle of the round. */
  #changeLimit(size: number): void {
    const { limit, clients } = this.#plan;
    const next = allowanceFor(limit, size, this.#plan);
    if (limit === 'credit') this.#stage.addCredit(next.balanceNanos - this.#allowance.balanceNanos);
    else this.#bounded.bound(next);
    this.#admittedAtChange = this.#stage.admitted(this.#bounded);
    this.#rules.batch = limit === 'concurrency' ? size : this.#plan.batch;
    this.#changed.resolve();
    this.#attemptsLeft = Math.max(this.#attemptsLeft, 2 * size + 2 * clients);
  }

  #boundFor({ afterChange }: Attempt): number {
    const { limit, size, change } = this.#plan;
    if (limit !== 'concurrency') return Number.POSITIVE_INFINITY;
    if (this.#admittedAtChange === undefined || change === undefined) return size;
    // Requests admitted before may still be on their way to the host.
    return afterChange ? change.size : Math.max(size, change.size);
  }

  #checkCounts(): void {
    const { limit, variant, size, change } = this.#plan;
    const admitted = this.#admitted.size;
    this.#expect('requests seen by the host', this.#host.arrivals, admitted);
    if (limit === 'concurrency') {
      const most = this.#admittedAtChange === undefined ? size : Math.max(size, change?.size ?? 0);
      // A limit that is lowered early may never be reached.
      if (change === undefined || most > size) this.#expect('requests at once', this.#host.peak, most);
    } else if (limit === 'rpm' || variant !== 'undeclared') {
      const expected = change === undefined ? size : Math.max(this.#admittedAtChange ?? 0, change.size);
      this.#expect('requests admitted', admitted, expected);
      if (change !== undefined && expected > Math.max(size, change.size)) {
        this.#deviations.push(`${expected} were admitted before the limit was changed from ${size} to ${change.size}`);
      }
    } else if (limit !== 'tpm' && admitted > size) {
      this.#deviations.push(`${admitted} were admitted, though money was held for ${size} at most`);
    }
  }

  #checkRows(): void {
    const { limit, variant, declaredTokens } = this.#plan;
    const rows = this.#stage.rows(this.#bounded);
    this.#expect('rows in the journal', rows.length, this.#admitted.size);
    const all = rows.flatMap((row): Admitted[] => {
      const attempt = this.#admitted.get(row.request_id);
      if (attempt !== undefined) return [{ row, attempt }];
      this.#deviations.push(`request ${row.request_id} is in the journal, but nobody got its answer`);
      return [];
    });
    for (const { row, attempt } of all) {
      const end = attempt.leaves ? 'cancelled' : 'ok';
      if (row.outcome !== end || row.source !== 'reported') {
        this.#deviations.push(`request ${row.request_id} is ${row.outcome}, ${row.source}`);
      }
      const outputTokens = variant === 'undeclared' ? attempt.outputTokens : declaredTokens;
      this.#expect(`output of request ${row.request_id}`, row.completion_tokens, outputTokens);
    }
    if (variant !== 'undeclared') return;
    this.#deviations.push(...misfits(all, limit, this.#plan, this.#allowance));
    if (!isUsedUp(all, limit, this.#plan, this.#allowance)) this.#deviations.push('the limit was not used up');
  }

  #expect(what: string, actual: number, expected: number): void {
    if (actual !== expected) this.#deviations.push(`${what}: ${actual} instead of ${expected}`);
  }
}

const REFUSALS: Readonly<Record<Limit, RegExp>> = {
  rpm: /^429 rate_limited$/,
  tpm: /^429 rate_limited$/,
  concurrency: /^429 rate_limited$/,
  spend: /^429 rate_limited$|^402 spend_limit_reached$/,
  credit: /^429 rate_limited$|^402 insufficient_credit$/,
  budget: /^429 rate_limited$|^402 spend_limit_reached$/,
};

function problemOfRefusal({ status, text }: Answer, limit: Limit): string | undefined {
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  if (!REFUSALS[limit].test(`${status} ${code}`)) return `a client got ${text}`;
  return status !== 429 || /^retry-after: [1-9]\d*\r$/im.test(text) ? undefined : `a 429 without a wait: ${text}`;
}
