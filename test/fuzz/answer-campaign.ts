/** Sound requests against a host whose answers are mutated: a client gets the answer, or an ordinary error. */
import { setImmediate as turn } from 'node:timers/promises';
import { completion } from '../support/answers.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Random } from '../support/random.ts';
import { type AnswerCase, drawAnswer } from './answers.ts';
import { type Campaign, type CaseResult, connectionFaults, seedOf } from './campaign.ts';
import { send } from './client.ts';
import { judge, type Verdict } from './oracle.ts';
import { CALM_MODEL, type FuzzSite, followLong, secretsOf, WILD_PROVIDERS } from './site.ts';

/** Longer than all time-outs of the providers together. */
const PATIENCE_MS = 60_000;
/** What a sound request can come to, whatever the host answers. */
const STATUSES = [200, 400, 502];

/** After so many failures in a row a provider gets a sound answer, so that the gateway does not leave it alone. */
const CALMED_AFTER = 3;
/** In place of the number of a case. */
const CALMING = 'none';

interface Running {
  readonly drawn: AnswerCase;
  /** The host has received the request. */
  wasAsked: boolean;
}

export class AnswerCampaign implements Campaign {
  readonly name = 'answers';
  readonly faults: string[] = [];
  /** Answers with 502 to requests that the host did not see: it had closed the connection, or had failed too often. */
  unasked = 0;
  readonly #fuzz: FuzzSite;
  readonly #seed: number;
  readonly #running = new Map<number, Running>();
  /** In a row, by the number of the provider. */
  readonly #failures = new Map<number, number>();

  constructor(fuzz: FuzzSite, seed: number) {
    this.#fuzz = fuzz;
    this.#seed = seed;
  }

  begin(): void {
    followLong(this.#fuzz, (call) => this.#answer(call));
  }

  async run(number: number): Promise<CaseResult> {
    const { site, secrets } = this.#fuzz;
    const drawn = drawAnswer(new Random(seedOf(this.#seed, number)), secretsOf(this.#fuzz));
    const running: Running = { drawn, wasAsked: false };
    this.#running.set(number, running);
    const isSound = drawn.soundBody !== undefined;
    const model = isSound ? CALM_MODEL : `wild${number % WILD_PROVIDERS}/echo`;
    const request = requestFor(`case ${number}`, model, drawn.stream, isSound ? secrets.calm : secrets.wild);
    const sending = { port: site.port, patienceMs: PATIENCE_MS };
    const received = await send({ ...sending, pieces: [request], answers: drawn.leaves ? 0 : 1 });
    this.#running.delete(number);
    const known = { secrets: secretsOf(this.#fuzz), mayLackBodies: false, isClosed: false };
    const verdict = judge(received.bytes, known);
    const faults = drawn.leaves ? [] : [...connectionFaults(received), ...this.#faultsOf(running, verdict)];
    if (!isSound) await this.#calm(number % WILD_PROVIDERS, verdict.answers[0]?.status === 200);
    return { answers: verdict.answers, faults, sent: Buffer.concat(drawn.pieces), received: received.bytes };
  }

  /** Lets a provider that has failed again and again answer soundly once. */
  async #calm(provider: number, isWell: boolean): Promise<void> {
    const failures = isWell ? 0 : (this.#failures.get(provider) ?? 0) + 1;
    this.#failures.set(provider, failures % CALMED_AFTER);
    if (failures < CALMED_AFTER) return;
    const { site, secrets } = this.#fuzz;
    const pieces = [requestFor(CALMING, `wild${provider}/echo`, false, secrets.wild)];
    await send({ port: site.port, pieces, answers: 1, patienceMs: PATIENCE_MS });
  }

  #faultsOf({ drawn, wasAsked }: Running, verdict: Verdict): string[] {
    const [answer, ...others] = verdict.answers;
    const faults = [...verdict.faults];
    if (answer === undefined || others.length > 0 || verdict.isCut) return [...faults, 'not exactly one answer'];
    if (!STATUSES.includes(answer.status)) faults.push(`status ${answer.status}`);
    if (!wasAsked && answer.status === 502 && drawn.soundBody === undefined) this.unasked++;
    else if (!wasAsked) faults.push('an answer without the host');
    if (drawn.soundBody !== undefined && (answer.status !== 200 || answer.body.toString() !== drawn.soundBody))
      faults.push('a sound answer did not come through as it was');
    return faults;
  }

  async #answer(call: UpstreamCall): Promise<void> {
    if (call.body.includes(`"user":"${CALMING}"`)) return call.answer(200, completion('calm'));
    const number = Number(/"user":"case (\d+)"/.exec(call.body)?.[1]);
    const running = this.#running.get(number);
    // Its client has left.
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
