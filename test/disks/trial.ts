/**
 * One storage failure under a running gateway, from the requests that meet it to the totals after it, with the
 * times it took.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { auditDifferences, readState } from '../crash/state-file.ts';
import { until } from '../support/wait.ts';
import { type Fault, LOCKED } from './faults.ts';
import type { Figures } from './rows.ts';
import { type Answer, COST_NANOS, CREDIT_NANOS, RPM, type Running, type Site, TOKENS, TPM } from './site.ts';

/** Requests in flight when the fault begins: half of them streams. */
const HELD = 6;
/** The number of requests in a row that must fail. */
const REFUSED = 4;
/** The time between two probes of the gateway. */
const PROBE_MS = 10;
/**
 * Far longer than a shutdown takes. A gateway that hangs is killed, and then has no exit status.
 */
const END_LIMIT_MS = 30_000;

export class Trial {
  readonly deviations: string[] = [];
  readonly figures: { -readonly [Name in keyof Figures]: number } = {};
  readonly #site: Site;
  readonly #fault: Fault;
  /** The number of requests that must have a row at the end. */
  #admitted = 0;

  constructor(site: Site, fault: Fault) {
    this.#site = site;
    this.#fault = fault;
  }

  /**
   * The fault lasts until enough was seen, for `lastsMs` milliseconds at least. If it comes `twice`, it has met a
   * single request before, and passed while no requests came.
   */
  async run(lastsMs = 0, times: 'once' | 'twice' = 'once'): Promise<this> {
    if (times === 'twice') await this.#sufferIdle();
    const running = await this.#begin();
    const repair = this.#fault.harm(this.#site);
    const startedAtMs = performance.now();
    try {
      await this.#suffer(running, () => performance.now() - startedAtMs < lastsMs);
    } finally {
      repair();
    }
    await this.#recover(running);
    await this.#reconcile(times === 'twice' ? 2 : 1);
    return this;
  }

  async #sufferIdle(): Promise<void> {
    this.#expect((await this.#site.ask()).status === 200, 'a request before the fault has failed');
    this.#admitted++;
    const repair = this.#fault.harm(this.#site);
    try {
      this.#refused(await this.#site.ask(), 'firstAnswerMs');
      await this.#expectReadiness(503, 'storage_fault');
    } finally {
      repair();
    }
    await untilReady(this.#site);
  }

  /** As `run`, but the gateway is stopped during the fault and started again after it. */
  async runToEnd(): Promise<this> {
    const running = await this.#begin();
    const repair = this.#fault.harm(this.#site);
    try {
      await this.#suffer(running, () => false);
      await this.#endInFault(running);
    } finally {
      repair();
    }
    const serving = await this.#site.start();
    await serving.logged(/^listening on /);
    const [warning] = serving.log.filter(({ msg }) => /left open by the last run/.test(msg));
    this.#expect(warning?.msg.includes(` ${HELD} requests `), `the next start says: ${warning?.msg}`);
    const { journal, holds } = readState(this.#site.statePath);
    const asHeld = journal.filter(({ source, outcome }) => source === 'held' && outcome === 'interrupted');
    this.#expect(asHeld.length === HELD, `${asHeld.length} requests are charged as held`);
    this.#expect(holds.size === 0, `${holds.size} holds are open after the next start`);
    this.#audit();
    this.#expect((await serving.stop()) === 0, 'the next gateway ended with a status that is not 0');
    return this;
  }

  /** As `runToEnd`, but the file is repaired while the gateway drains. */
  async runToEndRepaired(): Promise<this> {
    const running = await this.#begin();
    const { serving } = this.#site;
    const repair = this.#fault.harm(this.#site);
    try {
      await this.#suffer(running, () => false);
      serving.signal('SIGTERM');
      await serving.logged(/SIGTERM: shutting down, .* 6 requests in flight/);
    } finally {
      repair();
    }
    await this.#expectWhole(running);
    this.#expect((await serving.ended).status === 0, 'all could be settled, and the status is not 0');
    this.#expect(serving.text.includes('everything is settled'), 'it does not say that everything is settled');
    this.#checkBooks();
    return this;
  }

  async #begin(): Promise<Running[]> {
    const site = this.#site;
    this.#expect((await site.ask()).status === 200, 'a request before the fault has failed');
    const running: Running[] = [];
    while (running.length < HELD) running.push(await site.hold(running.length % 2 === 0));
    this.#admitted += 1 + HELD;
    await site.loopDelayMs();
    return running;
  }

  async #suffer(running: readonly Running[], isToLast: () => boolean): Promise<void> {
    const forwarded = this.#site.upstream.calls.length;
    let isOver = false;
    const health = this.#watchHealth(() => isOver);
    this.#refused(await this.#site.ask(), 'firstAnswerMs');
    await this.#expectReadiness(503, 'storage_fault');
    for (const one of running) await one.goOn('second');
    for (const one of running) one.finish();
    for (let count = 0; count < REFUSED || isToLast(); count++) {
      this.#refused(await this.#site.ask(), 'slowestAnswerMs');
      if (isToLast()) await pause(20);
    }
    await this.#expectReadiness(503, 'storage_fault');
    isOver = true;
    await health;
    const ended = running.filter(({ hasEnded }) => hasEnded);
    this.#expect(ended.length === 0, `${ended.length} answers ended before their charge was written`);
    const more = this.#site.upstream.calls.length - forwarded;
    this.#expect(more === 0, `${more} requests were forwarded during the fault`);
    this.figures.loopDelayMs = await this.#site.loopDelayMs();
  }

  async #watchHealth(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const { status, ms } = await this.#site.get('/healthz');
      this.#expect(status === 200, `/healthz answers ${status}`);
      this.#measure('slowestHealthMs', ms);
      await pause(PROBE_MS);
    }
  }

  #refused({ status, text, ms }: Answer, figure: 'firstAnswerMs' | 'slowestAnswerMs'): void {
    this.#expect(status === 500 && text.includes('"code":"internal_error"'), `a new request gets ${status} ${text}`);
    this.#measure(figure, ms);
  }

  async #expectReadiness(status: number, word: string): Promise<void> {
    const found = await this.#site.get('/readyz');
    const isRight = found.status === status && found.text === JSON.stringify({ status: word });
    this.#expect(isRight, `/readyz answers ${found.status} ${found.text} instead of ${status} ${word}`);
  }

  async #recover(running: readonly Running[]): Promise<void> {
    const repairedAtMs = performance.now();
    await this.#expectWhole(running);
    // Only the gateway's own probe can notice.
    await untilReady(this.#site);
    this.figures.recoveryMs = performance.now() - repairedAtMs;
  }

  async #expectWhole(running: readonly Running[]): Promise<void> {
    await Promise.all(running.map(({ ended }) => ended));
    for (const { stream, status, text } of running) {
      const isWhole = stream ? /first.*second.*data: \[DONE\]\n\n$/s.test(text) : text.includes('done');
      this.#expect(status === 200 && isWhole && !text.includes('"error"'), `an answer ended so: ${status} ${text}`);
    }
  }

  async #reconcile(faults: number): Promise<void> {
    const site = this.#site;
    const { status, headers } = await site.ask();
    this.#expect(status === 200, `a request after the fault gets ${status}`);
    const used = ++this.#admitted;
    const remaining = (name: string) => Number(headers.get(`x-ratelimit-remaining-${name}`));
    this.#expect(
      RPM - remaining('requests') === used,
      `${RPM - remaining('requests')} of ${used} requests are counted`,
    );
    this.#expect(TPM - remaining('tokens') === used * TOKENS, `${TPM - remaining('tokens')} tokens are counted`);
    this.#expect((await site.serving.stop()) === 0, 'the gateway ended with a status that is not 0');
    this.#expectLogged(faults, 'error', /^state file /, this.#fault.message);
    this.#expectLogged(faults, 'info', /can be written again/, /./);
    this.#checkBooks();
  }

  /** Each admitted request has exactly one row and one charge, and nothing else has. */
  #checkBooks(): void {
    const used = this.#admitted;
    const { journal, holds, balanceNanos } = readState(this.#site.statePath);
    this.#expect(journal.length === used, `${journal.length} rows for ${used} requests`);
    this.#expect(new Set(journal.map((row) => row.request_id)).size === journal.length, 'a request has two rows');
    const odd = journal.filter(({ outcome, source }) => outcome !== 'ok' || source !== 'reported');
    this.#expect(odd.length === 0, `${odd.length} rows are not as the host reported`);
    this.#expect(holds.size === 0, `${holds.size} holds are left`);
    const spent = CREDIT_NANOS - balanceNanos;
    this.#expect(spent === BigInt(used) * COST_NANOS, `${spent} nanodollars were charged`);
    this.#audit();
  }

  async #endInFault(running: readonly Running[]): Promise<void> {
    const { serving } = this.#site;
    const { status } = await this.#ended();
    this.#expect(status === 1, `it left requests open, and ended with status ${status}`);
    const reports = serving.log.filter(({ msg }) =>
      /\b6 requests could not be settled; the next start will charge their holds/.test(msg),
    );
    this.#expect(reports.length === 1, `it says ${reports.length} times how many requests are left open`);
    this.#expect(!serving.text.includes('everything is settled'), 'it says that everything is settled');
    // A client whose connection is cut can tell that its answer is incomplete.
    const ends = await Promise.all(
      running.map((one) =>
        one.ended.then(
          () => one.text,
          () => 'cut',
        ),
      ),
    );
    const whole = ends.filter((text) => text !== 'cut' && !text.includes('"error"'));
    this.#expect(whole.length === 0, `${whole.length} answers look whole, though they are not settled`);
  }

  async #ended() {
    const { serving } = this.#site;
    const signalledAtMs = performance.now();
    serving.signal('SIGTERM');
    const timer = setTimeout(() => serving.signal('SIGKILL'), END_LIMIT_MS);
    const ended = await serving.ended;
    clearTimeout(timer);
    this.#measure('endMs', performance.now() - signalledAtMs);
    return ended;
  }

  /** The log arrives with some delay, so this is checked when the process has ended. */
  #expectLogged(times: number, level: string, subject: RegExp, words: RegExp): void {
    const said = this.#site.serving.log.filter((line) => line.level === level && subject.test(line.msg));
    // The repair may lock the file for a moment.
    const lines = said.map(({ msg }) => msg).filter((msg) => words.test(msg) || !LOCKED.message.test(msg));
    this.#expect(lines.length === times, `the log says it ${lines.length} times: ${lines.join(' | ')}`);
    for (const msg of lines) this.#expect(words.test(msg), `the log says: ${msg}`);
  }

  /** Keeps the worst value. */
  #measure(figure: keyof Figures, milliseconds: number): void {
    this.figures[figure] = Math.max(this.figures[figure] ?? 0, milliseconds);
  }

  #audit(): void {
    for (const fault of auditDifferences(this.#site.statePath)) this.#expect(false, `audit: ${fault}`);
  }

  #expect(holds: boolean | undefined, otherwise: string): void {
    if (holds !== true) this.deviations.push(otherwise);
  }
}

/** Waits until `/readyz` says that the gateway is ready. */
async function untilReady(site: Site): Promise<void> {
  let isReady = false;
  let isOver = false;
  const asking = (async () => {
    while (!isReady && !isOver) {
      isReady = (await site.get('/readyz')).status === 200;
      await pause(PROBE_MS);
    }
  })();
  try {
    await until(() => isReady);
  } finally {
    isOver = true;
    await asking;
  }
}
