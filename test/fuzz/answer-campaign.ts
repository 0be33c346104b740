/** Sound requests against a host whose answers are mutated: a client gets the answer, or an ordinary error. */
import { setImmediate as turn } from 'node:timers/promises';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Random } from '../support/random.ts';
import { type AnswerCase, drawAnswer } from './answers.ts';
import { type Campaign, type CaseResult, connectionFaults, seedOf } from './campaign.ts';
import { send } from './client.ts';
import { judge, type Verdict } from './oracle.ts';
import { CALM_MODEL, type FuzzSite, secretsOf, WILD_PROVIDERS } from './site.ts';

/** Longer than all time-outs of the providers together. */
const PATIENCE_MS = 10_000;
/** What a sound request can come to, whatever the host answers. */
const STATUSES = [200, 400, 502];
const KEPT_CALLS = 1_000;

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

  constructor(fuzz: FuzzSite, seed: number) {
    this.#fuzz = fuzz;
    this.#seed = seed;
  }

  begin(): void {
    const { upstream } = this.#fuzz.site;
    upstream.follow((call) => {
      if (upstream.calls.length > KEPT_CALLS) upstream.calls.length = 0;
      return this.#answer(call);
    });
  }

  async run(number: number): Promise<CaseResult> {
    const { site, secrets } = this.#fuzz;
    const drawn = drawAnswer(new Random(seedOf(this.#seed, number)), secretsOf(this.#fuzz));
    const running: Running = { drawn, wasAsked: false };
    this.#running.set(number, running);
    const isSound = drawn.soundBody !== undefined;
    const request = requestFor(number, drawn, isSound ? secrets.calm : secrets.wild);
    const received = await send({
      port: site.port,
      pieces: [request],
      answers: drawn.leaves ? 0 : 1,
      patienceMs: PATIENCE_MS,
    });
    this.#running.delete(number);
    const known = { secrets: secretsOf(this.#fuzz), mayLackBodies: false, isClosed: false };
    const verdict = judge(received.bytes, known);
    const faults = drawn.leaves ? [] : [...connectionFaults(received), ...this.#faultsOf(running, verdict)];
    return { answers: verdict.answers, faults, sent: Buffer.concat(drawn.pieces), received: received.bytes };
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

function requestFor(number: number, { stream, soundBody }: AnswerCase, secret: string): Buffer {
  const body = JSON.stringify({
    model: soundBody === undefined ? `wild${number % WILD_PROVIDERS}/echo` : CALM_MODEL,
    messages: [{ role: 'user', content: 'Hello' }],
    user: `case ${number}`,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
  });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n`;
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
