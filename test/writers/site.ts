/**
 * What the writers share: a workplace with a gateway, keys for its clients, and more credit than a
 * run can spend.
 */
import { type NewKeyJson, type Serving, Workplace } from '../support/cli.ts';
import type { Scope } from '../support/run-scope.ts';

/** The limits of the tier: more than a run can send. */
export const TIER = { rpm: 100_000_000, tpm: 100_000_000_000, concurrency: 10_000 };
/**
 * The models, both of the built-in provider. A request to the second one costs a few nanodollars.
 */
export const MODELS = { free: 'mock/free', paid: 'mock/paid' };

const CONFIG = `listen: 127.0.0.1:0
state: ./state.db
overload: { loop_delay: off }
tiers: { standard: ${JSON.stringify(TIER)} }
providers:
  mock:
    kind: mock
    models:
      free: { input: 0, output: 0 }
      paid: { input: 0.0001, output: 0.0001 }
`;

/** Less than the smallest unit of the writers' entries, and more than a run can spend. */
export const FIRST_CREDIT_USD = '0.5';

/**
 * The keys of the clients and how they are created: without limits, with wide limits, and with
 * narrow ones.
 */
const CLIENT_KEYS = {
  unlimited: [],
  wide: ['--rpm', '50000000', '--spend-limit', '100', '--allow', MODELS.free, '--allow', MODELS.paid],
  narrow: ['--rpm', '5', '--concurrency', '2'],
} as const;
export type ClientKey = keyof typeof CLIENT_KEYS;

export interface Site {
  readonly place: Workplace;
  readonly serving: Serving;
  readonly port: number;
  readonly secrets: Readonly<Record<ClientKey, string>>;
}

export async function openSite(scope: Scope): Promise<Site> {
  const place = new Workplace(scope, CONFIG);
  const names = Object.keys(CLIENT_KEYS) as ClientKey[];
  const [, ...created] = await place.runAll([
    ['credit', 'add', FIRST_CREDIT_USD],
    ...names.map((name) => ['keys', 'create', name, ...CLIENT_KEYS[name], '--json']),
  ]);
  const secrets = Object.fromEntries(
    names.map((name, index) => [name, (JSON.parse(created[index]?.stdout ?? '') as NewKeyJson).key]),
  ) as Record<ClientKey, string>;
  const serving = await place.serve();
  return { place, serving, port: Number(new URL(serving.url).port), secrets };
}
