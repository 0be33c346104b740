/** Attacks on a gateway before a host that follows a script, and the bill of that host. */
import type { FakeUpstream, Script, UpstreamCall } from '../support/fake-upstream.ts';
import { type Sending, type TestGateway, type TestKey, withGateway } from '../support/gateway.ts';
import { COUNT_ERROR } from './site.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A request to a gateway with these providers, and what its host does and bills for it. */
export interface ScriptedAttack {
  readonly path: string;
  send(): Promise<Partial<Sending>>;
  /** By their names. Each host is the same one, at the path `/NAME/v1`. */
  readonly providers: Readonly<Record<string, Fields>>;
  readonly script: Script;
  /** Whether the host bills a call: unless it says otherwise, every one that it answers with 200. */
  isBilled?(call: UpstreamCall): boolean;
  /** In nanodollars. */
  readonly bill: number;
}

export const OVER_SCRIPTED_CHARGE = { unit: 'times what was charged', most: COUNT_ERROR };
export const OVER_SCRIPTED_BALANCE = { unit: 'times the balance', most: 1 };

/** What the host billed for one request over the charge; 0 if it did not reach the host. */
export function billedOverScriptedCharge(attack: ScriptedAttack): Promise<number> {
  return withScripted(attack, '1000', async ({ gateway, key, ask, billed }) => {
    await ask();
    await gateway.assertSettled();
    const charged = gateway.rows(key).reduce((sum, row) => sum + row.cost_nanos, 0);
    return billed() === 0 ? 0 : billed() / charged;
  });
}

/** The charge for one request over what the host billed. */
export function chargedOverScriptedBill(attack: ScriptedAttack): Promise<number> {
  return withScripted(attack, '1000', async ({ gateway, key, ask, billed }) => {
    await ask();
    await gateway.assertSettled();
    return gateway.rows(key).reduce((sum, row) => sum + row.cost_nanos, 0) / billed();
  });
}

/** The bill of the host for racing requests over the balance. It answers once all have been admitted or refused. */
export function billedOverScriptedBalance(attack: ScriptedAttack, usd: number, requests: number): Promise<number> {
  const decided = Promise.withResolvers<void>();
  let undecided = requests;
  const decide = () => {
    undecided--;
    if (undecided === 0) decided.resolve();
  };
  const script: Script = async (call) => {
    decide();
    await decided.promise;
    await attack.script(call);
  };
  return withScripted({ ...attack, script }, String(usd), async ({ gateway, ask, billed }) => {
    const race = Array.from({ length: requests }, async () => {
      const status = await ask();
      if (status !== undefined && status >= 400 && status < 500) decide();
    });
    await Promise.all(race);
    await gateway.assertSettled();
    return billed() / (usd * 1e9);
  });
}

interface Scripted {
  readonly gateway: TestGateway;
  readonly key: TestKey;
  /** Sends the request of the attack, and resolves with its status; undefined if the answer broke off. */
  ask(): Promise<number | undefined>;
  /** In nanodollars. */
  billed(): number;
}

async function withScripted(
  { path, send, providers, script, isBilled = ({ status }) => status === 200, bill }: ScriptedAttack,
  credit: string,
  measure: (scripted: Scripted) => Promise<number>,
): Promise<number> {
  let figure = 0;
  let answers = 0;
  const at = ({ port }: FakeUpstream, name: string) => ({
    kind: 'openai',
    base_url: `http://127.0.0.1:${port}/${name}/v1`,
  });
  const providersAt = (host: FakeUpstream) =>
    Object.fromEntries(Object.entries(providers).map(([name, fields]) => [name, { ...at(host, name), ...fields }]));
  await withGateway({ providersAt, credit }, async (gateway) => {
    gateway.upstream.follow(async (call) => {
      await script(call);
      if (isBilled(call)) answers++;
    });
    const key = gateway.key({ rpm: 100_000, tpm: 1_000_000_000, concurrency: 1_000 });
    const sent = await send();
    figure = await measure({
      gateway,
      key,
      ask: async () => {
        const reply = await gateway.request(path, { key, method: 'POST', ...sent }).catch(() => undefined);
        return reply?.status;
      },
      billed: () => answers * bill,
    });
  });
  return figure;
}
