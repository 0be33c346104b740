/** A campaign: cases that a seed and a number repeat, run side by side, each judged by itself. */
import type { Received } from './client.ts';
import type { Answer } from './http.ts';

export interface CaseResult {
  readonly answers: readonly Answer[];
  readonly faults: readonly string[];
  /** For people who look for the cause. */
  readonly sent: Buffer;
  readonly received: Buffer;
}

/** Something that runs one case. */
export interface Campaign {
  readonly name: string;
  /** Begins: the host answers for this campaign from here on. */
  begin(): void;
  run(number: number): Promise<CaseResult>;
  /** Faults that are those of no single case. */
  readonly faults: readonly string[];
}

export interface CampaignOptions {
  readonly seed: number;
  readonly count: number;
  /** Runs this case alone. */
  readonly only?: number | undefined;
  onProgress?(done: number): void;
}

export interface CampaignResult {
  readonly name: string;
  readonly cases: number;
  readonly answers: number;
  /** How many answers had each status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly deviations: readonly string[];
  readonly seconds: number;
}

/** Clients at the same time. */
const CLIENTS = 48;
/** Beyond so many deviations there is nothing more to learn. */
const MOST_DEVIATIONS = 50;
const SHOWN_BYTES = 3_000;

export async function runCampaign(campaign: Campaign, options: CampaignOptions): Promise<CampaignResult> {
  const { seed, count, only, onProgress } = options;
  const startedAtMs = performance.now();
  const statuses = new Map<number, number>();
  const deviations: string[] = [];
  const numbers = (only === undefined ? Array.from({ length: count }, (_, number) => number) : [only]).values();
  let done = 0;
  const client = async () => {
    for (const number of numbers) {
      if (deviations.length >= MOST_DEVIATIONS) return;
      const { answers, faults, sent, received } = await campaign.run(number);
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const shown = `\n  sent ${shownBytes(sent)}\n  got  ${shownBytes(received)}`;
      deviations.push(...faults.map((fault) => `${campaign.name}, --seed ${seed} --only ${number}: ${fault}${shown}`));
      done++;
      onProgress?.(done);
    }
  };
  campaign.begin();
  await Promise.all(Array.from({ length: CLIENTS }, client));
  deviations.push(...campaign.faults.map((fault) => `${campaign.name}: ${fault}`));
  const answers = [...statuses.values()].reduce((sum, each) => sum + each, 0);
  const seconds = (performance.now() - startedAtMs) / 1000;
  return { name: campaign.name, cases: done, answers, statuses, deviations, seconds };
}

/** A seed for one case, so that each can be run by itself. */
export function seedOf(seed: number, number: number): number {
  return (Math.imul(seed, 0x85ebca6b) ^ Math.imul(number + 1, 0x9e3779b1)) >>> 0;
}

/** What is wrong with a connection, whatever came over it. */
export function connectionFaults({ isStuck }: Received): string[] {
  return isStuck ? ['the connection did not end'] : [];
}

function shownBytes(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1', 0, SHOWN_BYTES)) + (bytes.length > SHOWN_BYTES ? '…' : '');
}
