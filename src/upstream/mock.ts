/** Plays the mock provider's scripts in real time, as if they arrived over a connection. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { mockIdPrefix, mockScript, type Script, type Step } from '../providers/mock/mock.ts';
import { NO_SECRETS } from '../wire/secrets.ts';
import { Attempt, UpstreamFailure } from './attempt.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

const NO_SUCH_PATH: Script = { status: 404, contentType: 'application/json', delayMs: 0, steps: [] };

export class MockUpstream implements Upstream {
  readonly secrets = NO_SECRETS;
  readonly #timeouts: UpstreamTimeouts;
  readonly #players = new Set<ScriptPlayer>();
  #responses = 0;

  constructor(timeouts: UpstreamTimeouts) {
    this.#timeouts = timeouts;
  }

  attempt({ request }: UpstreamCall): Attempt {
    const attempt = new Attempt();
    const createdS = Math.floor(Date.now() / 1000);
    const id = `${mockIdPrefix(request)}mock-${createdS}-${++this.#responses}`;
    return this.#play(attempt, mockScript(request, { id, createdS }));
  }

  /** The mock provider stores no responses. */
  ask(): Attempt {
    return this.#play(new Attempt(), NO_SUCH_PATH);
  }

  #play(attempt: Attempt, script: Script): Attempt {
    const player = new ScriptPlayer(attempt, script, this.#timeouts, () => this.#players.delete(player));
    this.#players.add(player);
    player.start();
    return attempt;
  }

  async close(): Promise<void> {
    for (const player of this.#players) player.abort();
  }
}

class ScriptPlayer {
  readonly #attempt: Attempt;
  readonly #script: Script;
  readonly #timeouts: UpstreamTimeouts;
  readonly #steps: Iterator<Step>;
  readonly #onEnd: () => void;
  #timer: NodeJS.Timeout | undefined;
  #paused = false;
  #stopped = false;

  constructor(attempt: Attempt, script: Script, timeouts: UpstreamTimeouts, onEnd: () => void) {
    this.#attempt = attempt;
    this.#script = script;
    this.#timeouts = timeouts;
    this.#steps = script.steps[Symbol.iterator]();
    this.#onEnd = onEnd;
  }

  start(): void {
    this.#attempt.begin({
      pause: () => {
        this.#paused = true;
      },
      resume: () => {
        this.#paused = false;
        this.#play();
      },
      abort: () => this.stop(),
    });
    const { delayMs, status, contentType } = this.#script;
    if (delayMs >= this.#timeouts.firstByteMs) {
      this.#fail('first_byte_timeout', this.#timeouts.firstByteMs);
      return;
    }
    this.#after(delayMs, () => {
      this.#attempt.receiveHead({ status, contentType, isEncoded: false, retryAfter: undefined });
      this.#play();
    });
  }

  abort(): void {
    this.#attempt.fail(new UpstreamFailure('aborted', 'the mock provider was closed'));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stopped = true;
    this.#onEnd();
  }

  /** Plays steps until one of them waits. */
  #play(): void {
    while (!this.#paused && !this.#stopped) {
      const { value: step, done } = this.#steps.next();
      if (done === true) {
        this.#attempt.end();
        this.stop();
        return;
      }
      if (step.afterMs >= this.#timeouts.idleMs) {
        this.#fail('idle_timeout', this.#timeouts.idleMs);
        return;
      }
      if (step.afterMs > 0) {
        this.#after(step.afterMs, () => {
          if (this.#perform(step)) this.#play();
        });
        return;
      }
      if (!this.#perform(step)) return;
    }
  }

  /** Returns whether the script continues. */
  #perform(step: Step): boolean {
    if (step.bytes !== undefined) this.#attempt.push(Buffer.from(step.bytes));
    if (step.ending === 'break')
      this.#attempt.fail(
        new UpstreamFailure('broken', 'the mock provider dropped the connection, as the prompt asked'),
      );
    if (step.ending === 'silence') this.#fail('idle_timeout', this.#timeouts.idleMs);
    return step.ending === undefined;
  }

  #fail(kind: 'first_byte_timeout' | 'idle_timeout', afterMs: number): void {
    this.#after(afterMs, () =>
      this.#attempt.fail(new UpstreamFailure(kind, `the mock provider sent nothing for ${afterMs} ms`)),
    );
  }

  #after(milliseconds: number, work: () => void): void {
    if (milliseconds === 0) work();
    else this.#timer = setTimeout(work, milliseconds);
  }
}
