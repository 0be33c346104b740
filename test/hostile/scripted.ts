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
    const charged = gateway.rows(key).reduce((sum, row) => sum + row.cost_nanos, 0);
    return billed() === 0 ? 0 : billed() / charged;
  });
}

/** The charge for one request over what the host billed. */
export function chargedOverScriptedBill(attack: ScriptedAttack): Promise<number> {
  return withScripted(attack, '1000', async ({ gateway, key, ask, billed }) => {
    await ask();
    return gateway.rows(key).reduce((sum, row) => sum + row.cost_nanos, 0) / billed();
  });
}

/** What the host billed for racing requests over the balance. */
export function billedOverScriptedBalance(attack: ScriptedAttack, usd: number, requests: number): Promise<number> {
  return withScripted(attack, String(usd), async ({ ask, billed }) => {
    await Promise.all(Array.from({ length: requests }, ask));
    return billed() / (usd * 1e9);
  });
}

interface Scripted {
  readonly gateway: TestGateway;
  readonly key: TestKey;
  /** Sends the request of the attack, and resolves once it is settled. */
  ask(): Promise<void>;
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
    const key = gateway.key();
    const sent = await send();
    const ask = async () => {
      await gateway.request(path, { key, method: 'POST', ...sent }).catch(() => undefined);
    };
    figure = await measure({
      gateway,
      key,
      ask: async () => {
        await ask();
        await gateway.assertSettled();
      },
      billed: () => answers * bill,
    });
  });
  return figure;
}
