/** The host behind the gateway: records each request, then answers it according to its plan. */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { FakeUpstream, type Script, type UpstreamCall } from '../support/fake-upstream.ts';
import { isStream, markerIn, type Plan, reported, wordsOf } from './plan.ts';

export class Host {
  /** What it awaits in the middle of a stream. */
  middleOf: (plan: Plan) => Promise<void> = ({ delayMs }) => pause(delayMs);
  readonly #upstream: FakeUpstream;
  readonly #path: string;
  readonly #file: number;
  readonly #script: Script;

  private constructor(upstream: FakeUpstream, path: string, planOf: (marker: number) => Plan) {
    this.#upstream = upstream;
    this.#path = path;
    this.#file = openSync(path, 'a');
    this.#script = async (call) => {
      const marker = markerIn(call.body);
      writeSync(this.#file, `${marker}\n`);
      fsyncSync(this.#file);
      await answer(call, planOf(marker), (plan) => this.middleOf(plan));
    };
    this.forget();
  }

  /** Records requests in the file at `path`. */
  static async start(path: string, planOf: (marker: number) => Plan): Promise<Host> {
    return new Host(await FakeUpstream.start(), path, planOf);
  }

  get port(): number {
    return this.#upstream.port;
  }

  /** Drops the requests of a cycle from memory. The record stays. */
  forget(): void {
    this.#upstream.follow(this.#script);
  }

  /** How often each request was received, by its marker. */
  seen(): Map<number, number> {
    const seen = new Map<number, number>();
    for (const line of readFileSync(this.#path, 'utf8').split('\n').slice(0, -1)) {
      seen.set(Number(line), (seen.get(Number(line)) ?? 0) + 1);
    }
    return seen;
  }

  async close(): Promise<void> {
    await this.#upstream.close();
    closeSync(this.#file);
  }
}

async function answer(call: UpstreamCall, plan: Plan, middleOf: Host['middleOf']): Promise<void> {
  await pause(plan.delayMs);
  if (plan.kind === 'failing') return call.answer(500, { error: { message: 'out of order' } });
  if (plan.kind === 'faulty') return call.answer(400, { error: { message: 'not with this model' } });
  const usage = usageOf(plan);
  const [first, second] = wordsOf(plan);
  if (!isStream(plan)) return call.answer(200, completion(first + second, { usage }));
  call.stream();
  call.send(chunk(first));
  await middleOf(plan);
  if (plan.kind === 'broken') return call.hangUp();
  call.send(chunk(second, 'stop') + (usage === undefined ? '' : usageChunk(usage)) + DONE);
  call.end();
}

function usageOf(plan: Plan): Record<string, unknown> | undefined {
  if (plan.kind === 'json_uncounted' || plan.kind === 'stream_uncounted') return undefined;
  const { prompt, cached, completion: output } = reported(plan);
  return {
    prompt_tokens: Number(prompt),
    completion_tokens: Number(output),
    total_tokens: Number(prompt + output),
    prompt_tokens_details: { cached_tokens: Number(cached) },
  };
}
