/** What must hold after every round: nothing is left of it, and the totals agree. */
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { auditElsewhere } from '../support/auditor.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, type TestKey } from '../support/gateway.ts';
import { until } from '../support/wait.ts';
import { costNanos, INPUT_TOKENS } from './allowance.ts';
import type { Bounded } from './bounded.ts';
import type { Stage } from './stage.ts';

/** The output tokens of a probe, declared and used. */
const PROBE_TOKENS = 10;
const PROBE_USAGE = {
  prompt_tokens: INPUT_TOKENS,
  completion_tokens: PROBE_TOKENS,
  total_tokens: INPUT_TOKENS + PROBE_TOKENS,
};

const answerProbe: Script = (call) => {
  if (!call.body.includes('"stream":true')) return call.answer(200, completion('hi', { usage: PROBE_USAGE }));
  call.stream();
  call.send(chunk('hi', 'stop') + usageChunk(PROBE_USAGE) + DONE);
  call.end();
};

/** Waits for the last settlements of theirs. */
export async function assertNothingHeld(stage: Stage, bounded: Bounded): Promise<void> {
  await until(() => stage.holds(bounded) === 0);
}

/**
 * Leaves them and the account room for exactly one more request. If a slot, a token, an entry of
 * the window or a nanodollar was not released, it is refused; if one was released twice, the
 * request after it is admitted.
 */
export async function probe(stage: Stage, bounded: Bounded): Promise<string[]> {
  const { keys, headers } = bounded;
  const [key, last] = [keys[0], keys.at(-1)] as [TestKey, TestKey];
  const rows = stage.rows(bounded);
  const tokens = rows.reduce((sum, row) => sum + row.prompt_tokens + row.completion_tokens, 0);
  const charged = rows.reduce((sum, row) => sum + BigInt(row.cost_nanos), 0n);
  const deviations: string[] = [];
  const body = chat({ max_tokens: PROBE_TOKENS, stream: rows.length % 2 === 0 });
  stage.gateway.upstream.follow(answerProbe);
  stage.setBalance(costNanos(PROBE_TOKENS));
  const rates = { rpm: rows.length + 1, tpm: tokens + PROBE_USAGE.total_tokens, concurrency: 1 };
  bounded.bound({
    limits: { ...rates, spendLimitNanos: charged + 1n },
    // A new window, which knows what was charged.
    budgets: [{ period: '25h', limitNanos: charged + 1n }],
  });
  const first = await stage.gateway.complete(key, body, { headers });
  if (first.status !== 200) deviations.push(`something of ${key.id} is still taken: ${first.text}`);
  const second = await stage.gateway.complete(last, body, { headers });
  if (second.status !== 402) deviations.push(`what a probe used up was given out again: ${second.text}`);
  return deviations;
}

/** The differences that the auditor finds, and the holds that are left. */
export async function faultsInBooks(stage: Stage): Promise<string[]> {
  const checks = await auditElsewhere(stage.gateway.statePath);
  const differences = checks.flatMap(({ name, differences }) => differences.map((text) => `audit, ${name}: ${text}`));
  const holds = checks.find(({ name }) => name === 'holds')?.rows;
  return holds === 0 ? differences : [...differences, `${holds} holds are left`];
}
