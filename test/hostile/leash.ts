/** A command that `run` holds on a leash, before a host that writes as much as it may. */
import { completion } from '../support/answers.ts';
import { CONFIG, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import type { Scope } from '../support/run-scope.ts';

/** USD per million tokens of output; a request without a maximum gets an answer of 0.05 USD. */
const OUTPUT_PRICE = 10;
const UNASKED_TOKENS = 5_000;

/** Sends requests at once, and waits for all. */
const COMMAND = `
const { OPENAI_BASE_URL: url, OPENAI_API_KEY: key } = process.env;
const body = JSON.stringify({ model: 'host/paid', messages: [{ role: 'user', content: 'Hello' }] });
const send = () => fetch(url + '/chat/completions', { method: 'POST', headers: { authorization: 'Bearer ' + key }, body }).then((answer) => answer.text());
await Promise.all(Array.from({ length: Number(process.argv[1]) }, send));
`;

export class Leash {
  readonly #place: Workplace;
  #billedTokens = 0;

  private constructor(place: Workplace, upstream: FakeUpstream) {
    this.#place = place;
    upstream.follow((call) => {
      const { max_tokens: old, max_completion_tokens: most = old ?? UNASKED_TOKENS } = JSON.parse(call.body);
      const tokens = Math.min(most, UNASKED_TOKENS);
      this.#billedTokens += tokens;
      const usage = { prompt_tokens: 10, completion_tokens: tokens, total_tokens: tokens + 10 };
      call.answer(200, completion('Done.', { usage }));
    });
  }

  static async open(scope: Scope): Promise<Leash> {
    const upstream = await FakeUpstream.start();
    scope.after(() => upstream.close());
    const host = `  host:
    kind: openai
    base_url: http://127.0.0.1:${upstream.port}/v1
    api_key: upstream-key-canary-4711
    models: { paid: { input: 0, output: ${OUTPUT_PRICE}, max_output: 64000 } }
`;
    const place = new Workplace(scope, `${CONFIG}${host}`);
    await place.run(['credit', 'add', '100']);
    return new Leash(place, upstream);
  }

  /** What the host bills for a command that sends so many requests at once. */
  async billedUsd(maxUsd: number, requests: number): Promise<number> {
    const command = [process.execPath, '--input-type=module', '-e', COMMAND, String(requests)];
    await this.#place.runAlone(['run', '--max-usd', String(maxUsd), '--', ...command]);
    return (this.#billedTokens * OUTPUT_PRICE) / 1e6;
  }
}
