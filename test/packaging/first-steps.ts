/** What every way to install the program has to pass. */
import assert from 'node:assert/strict';
import type { BalanceJson, NewKeyJson, Serving } from '../support/cli.ts';
import type { Alone } from './alone.ts';

const LIMIT = 5;
const AT_ONCE = 20;

export interface Started {
  readonly serving: Serving;
  readonly key: string;
}

/** The README's first steps, and a race on a limit. */
export async function firstSteps(program: Alone, installation: string): Promise<Started> {
  assert.equal((await program.json<{ installation: string }>('version')).installation, installation);
  const first = await program.json<{ key: { name: string } }>('init', '--config', 'first.yaml', '--key', 'first');
  assert.equal(first.key.name, 'first');
  assert.match((await program.run('completion', 'bash')).stdout, /^complete -F _inf_gw inf-gw$/m);

  const serving = await program.serve();
  const { key } = await program.json<NewKeyJson>('keys', 'create', 'my-app');
  assert.equal(await serving.chatOutcome(key), '200');
  assert.equal((await program.run('config', 'check')).status, 0);

  const limited = await program.json<NewKeyJson>('keys', 'create', 'limited', '--rpm', String(LIMIT));
  const outcomes = await Promise.all(Array.from({ length: AT_ONCE }, () => serving.chatOutcome(limited.key)));
  assert.equal(outcomes.filter((outcome) => outcome === '200').length, LIMIT);
  assert.equal(outcomes.filter((outcome) => outcome === '429 rate_limited').length, AT_ONCE - LIMIT);
  return { serving, key };
}

/** Another process takes over in the middle of a stream. Returns that one. */
export async function takeOver(program: Alone, { serving, key }: Started): Promise<Started> {
  const messages = [{ role: 'user', content: '/words 20 /pace 100ms' }];
  const stream = await serving.chat(key, { stream: true, messages });
  const next = await program.serve('--takeover');
  assert.equal(next.url, serving.url);
  assert.match(await stream.text(), /\[DONE\]\n\n$/);
  assert.equal((await serving.ended).status, 0);
  return { serving: next, key };
}

/** A crash in the middle of a paid stream, and the next start. */
export async function crash(program: Alone, { serving, key }: Started): Promise<void> {
  await program.json('credit', 'add', '100');
  // Once a stream has begun, its hold is in the state file.
  const messages = [{ role: 'user', content: '/stall 1 one two three' }];
  const lost = await serving.chat(key, { model: 'mock/paid', stream: true, messages });
  assert.equal(lost.status, 200);
  serving.signal('SIGKILL');
  await serving.ended;
  await assert.rejects(lost.text());

  const again = await program.serve();
  const { balance_usd: balance, held_usd: held } = await program.json<BalanceJson>('credit', 'show');
  assert.equal(Number(held), 0);
  assert.ok(Number(balance) < 100, 'the lost request was charged');
  const { status, stdout } = await program.run('audit');
  assert.equal(status, 0, stdout);
  assert.equal(await again.chatOutcome(key), '200');
  assert.equal(await again.stop(), 0);
}
