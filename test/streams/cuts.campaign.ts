/**
 * What a host bills for streams that are cut since no more money can be held. It writes on at its pace, whoever reads it,
 * until it notices that the gateway has hung up. A stream alone may be billed for a step beyond what was left, and for a
 * step that was not charged.
 */

import { chunk } from '../support/answers.ts';
import { countHolds } from '../support/books.ts';
import { campaign, showRow } from '../support/campaign.ts';
import { SERVE } from '../support/cli.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Place, rawChat } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';
import { percentile } from '../support/statistics.ts';
import { until } from '../support/wait.ts';

/** Tokens a second: an ordinary model, the fastest that are offered, and several times that. */
const PACES: readonly number[] = [100, 2_500, 10_000];
/** How many streams are cut at the same time. */
const AT_ONCE: readonly number[] = [1, 4];
/** What each may spend, in USD. */
const LEFT = 0.05;
const USD_PER_TOKEN = 0.00006;
const STEP_TOKENS = 100;
const STEP = STEP_TOKENS * USD_PER_TOKEN;
const MODEL = { input: 0, output: USD_PER_TOKEN * 1e6, default_output: STEP_TOKENS };
const LIMITS = { rpm: 1_000_000, tpm: 1_000_000_000, concurrency: 1_000 };
/** A token each. */
const WORDS = [' one', ' two', ' three', ' four', ' five', ' six', ' seven', ' eight', ' nine', ' ten'];
const EVENTS = WORDS.map((word) => chunk(word));
const TICK_MS = 2;

/** What a stream came to, in USD. */
interface Cut {
  readonly billed: number;
  readonly charged: number;
}

/** Writes a token in each event until the connection is closed. Returns how many it wrote. */
async function write(call: UpstreamCall, pace: number): Promise<number> {
  let isClosed = false;
  void call.closed.then(() => {
    isClosed = true;
  });
  call.stream();
  const startedAtMs = performance.now();
  let written = 0;
  while (!isClosed) {
    const due = Math.floor(((performance.now() - startedAtMs) * pace) / 1_000);
    let events = '';
    for (; written < due; written++) events += EVENTS[written % EVENTS.length];
    if (events !== '') call.send(events);
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  return written;
}

/** Sends requests that are streamed until they are cut, and the hosts that stream them. */
class Cutting {
  readonly #place: Place;
  readonly #written = new Map<string, PromiseWithResolvers<number>>();
  #streams = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  /** So many streams at once. */
  cut(streams: number, pace: number): Promise<Cut[]> {
    this.#place.upstream.follow(async (call) => {
      const { user } = JSON.parse(call.body);
      this.#written.get(user)?.resolve(await write(call, pace));
    });
    return Promise.all(Array.from({ length: streams }, () => this.#cutOne()));
  }

  async #cutOne(): Promise<Cut> {
    const key = this.#place.key({ spendLimitNanos: BigInt(LEFT * 1e9) });
    const user = `stream-${++this.#streams}`;
    const written = Promise.withResolvers<number>();
    this.#written.set(user, written);
    const connection = await RawConnection.sending(this.#place.port, rawChat(key, { stream: true, user }));
    await connection.has('[DONE]');
    connection.leave();
    const billed = (await written.promise) * USD_PER_TOKEN;
    await until(() => this.#place.rows(key).length === 1);
    return { billed, charged: (this.#place.rows(key)[0]?.cost_nanos ?? 0) / 1e9 };
  }
}

/** Prints a row of figures, and returns the largest. */
function report(name: string, figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const most = sorted.at(-1) ?? Number.NaN;
  showRow(
    name,
    [percentile(sorted, 0.5), most].map((usd) => usd.toFixed(4)),
  );
  return most;
}

export default campaign({
  proves: 'a host bills little more for a stream that is cut than was left and charged',
  amounts: { count: 40 },
  minutes: 2,
  async run(course, { count }) {
    const place = await Place.open(course, {}, SERVE);
    const providers = { host: place.host({ models: { model: MODEL } }) };
    await place.reload({ credit: 'off', tiers: { standard: LIMITS }, providers });
    const cutting = new Cutting(place);
    // The tokenizer is loaded once, which takes a while.
    await cutting.cut(1, 1_000);
    showRow(`USD, of ${LEFT.toFixed(2)} that were left`, ['p50', 'most']);
    const parts = AT_ONCE.flatMap((atOnce) => PACES.map((pace) => ({ atOnce, pace })));
    let streams = 0;
    for (const [index, { atOnce, pace }] of parts.entries()) {
      const cuts: Cut[] = [];
      do cuts.push(...(await cutting.cut(atOnce, pace)));
      while (cuts.length < count && !course.isOver((index + 1) / parts.length));
      streams += cuts.length;
      const name = `${pace} tokens/s, ${atOnce} at once`;
      const [all, uncharged] = [cuts.map(({ billed }) => billed), cuts.map(({ billed, charged }) => billed - charged)];
      const [billed, unpaid] = [report(`${name}: billed`, all), report(`${name}: of that not charged`, uncharged)];
      if (atOnce > 1) continue;
      if (billed > LEFT + STEP) course.deviate(`${name}: more than a step beyond what was left`);
      if (unpaid > STEP) course.deviate(`${name}: more than a step was not charged`);
    }
    await until(() => countHolds(place.database) === 0);
    await place.stop();
    return `${streams} streams`;
  },
});
