/** A gateway before a host that makes true bills: what is sent, held and charged there, in whatever dialects. */
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { startTestGateway, type TestGateway, type TestKey } from '../support/gateway.ts';
import type { KeySettings } from '../support/state.ts';
import { until } from '../support/wait.ts';
import type { Conversation } from './conversation.ts';
import type { Received } from './sender.ts';

export const NANOS_PER_USD = 1_000_000_000;
/** More than any attack needs. */
export const AMPLE: KeySettings = { rpm: 1_000_000, tpm: 1_000_000_000, concurrency: 10_000 };
const AMPLE_CREDIT = '1000000';

interface BillingHost {
  readonly upstream: FakeUpstream;
}

/** A request that was sent, and what became of it. */
export interface Outcome extends Received {
  readonly conversation: Conversation;
}

/** Starts the gateway. The host ends if that fails: its open port would keep the process alive. */
export async function gatewayBefore(
  { upstream }: BillingHost,
  config: Readonly<Record<string, unknown>>,
): Promise<TestGateway> {
  try {
    return await startTestGateway({ config: { durability: 'crash', ...config }, credit: AMPLE_CREDIT });
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

export abstract class TruthfulSite<Host extends BillingHost> {
  readonly host: Host;
  readonly gateway: TestGateway;

  protected constructor(host: Host, gateway: TestGateway) {
    this.host = host;
    this.gateway = gateway;
  }

  key(settings: KeySettings = {}): TestKey {
    return this.gateway.key({ ...AMPLE, ...settings });
  }

  /** Sets the balance, which is all that the account has while nothing is in flight. */
  setBalance(nanos: number): void {
    const change = BigInt(nanos) - this.gateway.balanceNanos;
    if (change !== 0n) this.gateway.addCredit(change);
  }

  resetBalance(): void {
    this.setBalance(Number(AMPLE_CREDIT) * NANOS_PER_USD);
  }

  /** Waits until nothing of these keys is in flight, and every host has made its bill. */
  async settled(keys: readonly TestKey[], outcomes: readonly Outcome[]): Promise<void> {
    const bills = () => outcomes.flatMap(({ conversation }) => conversation.bills);
    await until(async () => (await this.gateway.inFlight()) === 0 && bills().every(({ isFinal }) => isFinal));
    await until(() => keys.every((key) => this.gateway.holds(key) === 0));
  }

  /** Nanodollars that a key was charged so far. */
  charged(key: TestKey): number {
    return this.gateway.rows(key).reduce((sum, { cost_nanos }) => sum + cost_nanos, 0);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.host.upstream.close();
  }
}
