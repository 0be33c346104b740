/** Runs a campaign of composed attacks on a terminal, and says how far they came. */
import type { CampaignOptions, CampaignResult } from './campaign.ts';
import { NANOS_PER_USD } from './site.ts';

export interface CampaignRun {
  readonly seed: number;
  readonly attacks: number;
  /** Ends it before all attacks are made. */
  readonly minutes: number | undefined;
  readonly onlyRound: number | undefined;
}

const MOST_SHOWN = 12;
const MOST_SHOWN_CHARACTERS = 1_500;
const MS_PER_MINUTE = 60_000;

/** Gives how often a limit was passed. Each time has a line that says how to see it again. */
export async function runOnTerminal(
  run: CampaignRun,
  campaign: (options: CampaignOptions) => Promise<CampaignResult>,
): Promise<number> {
  const { seed, attacks, minutes, onlyRound } = run;
  const startedAtMs = performance.now();
  const elapsedMs = () => performance.now() - startedAtMs;
  const onProgress = (done: number, passed: number) => {
    const most = minutes === undefined ? ` of ${attacks}` : '';
    if (process.stdout.isTTY) process.stdout.write(`\r${done}${most} attacks, ${passed} passed `);
  };
  const isOver = () => minutes !== undefined && elapsedMs() >= minutes * MS_PER_MINUTE;
  console.log(`\ncomposed attacks, seed ${seed}`);
  const result = await campaign({ seed, attacks, onlyRound, isOver, onProgress });
  if (process.stdout.isTTY) console.log();
  show(result, elapsedMs() / 1000);
  for (const { round, judged, share, tricks, sent } of result.passed.slice(0, MOST_SHOWN)) {
    const text = `--seed ${seed} --only ${round}: ${judged} ${share.toFixed(2)} of 1, ${tricks.join(', ')}\n  ${sent.join('\n  ')}`;
    console.error(text.slice(0, MOST_SHOWN_CHARACTERS));
  }
  return result.passedCount;
}

function show(result: CampaignResult, seconds: number): void {
  const usd = (nanos: number) => (nanos / NANOS_PER_USD).toFixed(2);
  const statuses = [...result.statuses].toSorted(([a], [b]) => a - b);
  const rows: (readonly [name: string, value: string])[] = [
    ['attacks', result.attacks.toLocaleString('en')],
    ['requests', result.requests.toLocaleString('en')],
    ['requests that reached the host', result.served.toLocaleString('en')],
    ...statuses.map(
      ([status, count]) => [`  with status ${status === 0 ? 'none' : status}`, count.toLocaleString('en')] as const,
    ),
    ['billed by the host, USD', usd(result.billedNanos)],
    ['charged, USD', usd(result.chargedNanos)],
    ...[...result.worst].map(([judged, share]) => [`worst of 1: ${judged}`, share.toFixed(3)] as const),
    ['took, s', seconds.toFixed(0)],
    ['passed', result.passedCount.toLocaleString('en')],
  ];
  for (const [name, value] of rows) console.log(name.padEnd(36) + value.padStart(14));
}
