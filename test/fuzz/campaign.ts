/** A campaign: reproducible cases, by seed and number, run concurrently and judged one by one. */
import type { Received } from './client.ts';
import type { Answer } from './http.ts';

export interface CaseResult {
  readonly answers: readonly Answer[];
  readonly problems: readonly string[];
  /** A description for debugging. */
  readonly sent: Buffer;
  readonly received: Buffer;
}

/** Runs the cases of one kind. */
export interface Campaign {
  readonly name: string;
  /** Starts: from here on, the host responds for this campaign. */
  begin(): void;
  run(number: number): Promise<CaseResult>;
  /** Problems that do not belong to a single case. */
  readonly problems: readonly string[];
}

export interface CampaignOptions {
  readonly seed: number;
  readonly count: number;
  /** Runs only this case. */
  readonly only?: number | undefined;
  /** Ends it before all cases are run. */
  isOver?(): boolean;
  onProgress?(done: number): void;
}

export interface CampaignResult {
  readonly name: string;
  readonly cases: number;
  readonly answers: number;
  /** How many responses had each status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly deviations: readonly string[];
  readonly seconds: number;
}

/** The number of concurrent clients. */
const CLIENTS = 48;
/** More deviations than this add nothing. */
const MOST_DEVIATIONS = 50;
const SHOWN_BYTES = 3_000;

export async function runCampaign(campaign: Campaign, options: CampaignOptions): Promise<CampaignResult> {
  const { seed, count, only, onProgress, isOver = () => false } = options;
  const startedAtMs = performance.now();
  const statuses = new Map<number, number>();
  const deviations: string[] = [];
  let [next, done] = [only ?? 0, 0];
  const last = only ?? count - 1;
  const client = async () => {
    while (next <= last && deviations.length < MOST_DEVIATIONS && !isOver()) {
      const number = next++;
      const { answers, problems, sent, received } = await campaign.run(number);
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const shown = `\n  sent ${shownBytes(sent)}\n  got  ${shownBytes(received)}`;
      deviations.push(
        ...problems.map((problem) => `${campaign.name}, --seed ${seed} --only ${number}: ${problem}${shown}`),
      );
      done++;
      onProgress?.(done);
    }
  };
  campaign.begin();
  await Promise.all(Array.from({ length: CLIENTS }, client));
  deviations.push(...campaign.problems.map((problem) => `${campaign.name}: ${problem}`));
  const answers = [...statuses.values()].reduce((sum, each) => sum + each, 0);
  const seconds = (performance.now() - startedAtMs) / 1000;
  return { name: campaign.name, cases: done, answers, statuses, deviations, seconds };
}

/** A seed for each case, so that each can be run by itself. */
export function seedOf(seed: number, number: number): number {
  return (Math.imul(seed, 0x85ebca6b) ^ Math.imul(number + 1, 0x9e3779b1)) >>> 0;
}

/** What is wrong with a connection, whatever arrived over it. */
export function connectionProblems({ isStuck }: Received): string[] {
  return isStuck ? ['the connection did not end'] : [];
}

function shownBytes(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1', 0, SHOWN_BYTES)) + (bytes.length > SHOWN_BYTES ? '…' : '');
}
