/**
 * Valid requests to a host whose responses are mutated: a client gets the response, or an ordinary
 * error.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { completion } from '../support/answers.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Random } from '../support/random.ts';
import { type AnswerCase, drawAnswer } from './answers.ts';
import { type Campaign, type CaseResult, connectionProblems, seedOf } from './campaign.ts';
import { send } from './client.ts';
import { judge, type Verdict } from './oracle.ts';
import { CALM_MODEL, type FuzzSite, followLong, secretsOf, WILD_PROVIDERS } from './site.ts';

/** Longer than all timeouts of the providers together. */
const PATIENCE_MS = 60_000;
/** What a valid request can result in, whatever the host responds. */
const STATUSES = [200, 400, 502];

/**
 * After this many failures in a row a provider sends a valid response, so that its circuit breaker
 * stays closed.
 */
const CALMED_AFTER = 3;
/** Replaced by the number of a case. */
const CALMING = 'none';

interface Running {
  readonly drawn: AnswerCase;
  /** The host has received the request. */
  wasAsked: boolean;
}

export class AnswerCampaign implements Campaign {
  readonly name = 'answers';
  readonly problems: string[] = [];
  /**
   * Requests that got 502 although the host did not see them: it had closed the connection, or had
   * failed too often.
   */
  unasked = 0;
  readonly #fuzz: FuzzSite;
  readonly #seed: number;
  readonly #running = new Map<number, Running>();
  /** Failures in a row, by the number of the provider. */
  readonly #failures = new Map<number, number>();

  constructor(fuzz: FuzzSite, seed: number) {
    this.#fuzz = fuzz;
    this.#seed = seed;
  }

  begin(): void {
    followLong(this.#fuzz, (call) => this.#answer(call));
  }

  async run(number: number): Promise<CaseResult> {
    const { place, secrets } = this.#fuzz;
    const drawn = drawAnswer(new Random(seedOf(this.#seed, number)), secretsOf(this.#fuzz));
    const running: Running = { drawn, wasAsked: false };
    this.#running.set(number, running);
    const isValid = drawn.expectedBody !== undefined;
    const model = isValid ? CALM_MODEL : `wild${number % WILD_PROVIDERS}/echo`;
    const request = requestFor(`case ${number}`, model, drawn.stream, isValid ? secrets.calm : secrets.wild);
    const sending = { port: place.port, patienceMs: PATIENCE_MS };
    const received = await send({ ...sending, pieces: [request], answers: drawn.leaves ? 0 : 1 });
    this.#running.delete(number);
    const known = { secrets: secretsOf(this.#fuzz), mayLackBodies: false, isClosed: false };
    const verdict = judge(received.bytes, known);
    const problems = drawn.leaves ? [] : [...connectionProblems(received), ...this.#problemsOf(running, verdict)];
    if (!isValid) await this.#calm(number % WILD_PROVIDERS, verdict.answers[0]?.status === 200);
    return { answers: verdict.answers, problems, sent: Buffer.concat(drawn.pieces), received: received.bytes };
  }

  /** Makes a provider that has failed repeatedly send one valid response. */
  async #calm(provider: number, isWell: boolean): Promise<void> {
    const failures = isWell ? 0 : (this.#failures.get(provider) ?? 0) + 1;
    this.#failures.set(provider, failures % CALMED_AFTER);
    if (failures < CALMED_AFTER) return;
    const { place, secrets } = this.#fuzz;
    const pieces = [requestFor(CALMING, `wild${provider}/echo`, false, secrets.wild)];
    await send({ port: place.port, pieces, answers: 1, patienceMs: PATIENCE_MS });
  }

  #problemsOf({ drawn, wasAsked }: Running, verdict: Verdict): string[] {
    const [answer, ...others] = verdict.answers;
    const problems = [...verdict.problems];
    if (answer === undefined || others.length > 0 || verdict.isCut) return [...problems, 'not exactly one response'];
    if (!STATUSES.includes(answer.status)) problems.push(`status ${answer.status}`);
    if (!wasAsked && answer.status === 502 && drawn.expectedBody === undefined) this.unasked++;
    else if (!wasAsked) problems.push('an answer without the host');
    if (drawn.expectedBody !== undefined && (answer.status !== 200 || answer.body.toString() !== drawn.expectedBody))
      problems.push('a valid response was not relayed unchanged');
    return problems;
  }

  async #answer(call: UpstreamCall): Promise<void> {
    if (call.body.includes(`"user":"${CALMING}"`)) return call.answer(200, completion('calm'));
    const number = Number(/"user":"case (\d+)"/.exec(call.body)?.[1]);
    const running = this.#running.get(number);
    // The client has hung up.
    if (running === undefined) return call.reset();
    running.wasAsked = true;
    for (const piece of running.drawn.pieces) {
      call.raw(piece);
      await turn();
    }
    if (running.drawn.ending === 'fin') call.hangUp();
    if (running.drawn.ending === 'reset') call.reset();
  }
}

function requestFor(user: string, model: string, stream: boolean, secret: string): Buffer {
  const body = JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Hello' }],
    user,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
  });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n`;
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
