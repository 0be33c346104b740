/** Attacks as rows of tables: what is sent, and the share that it reaches of what it may. */
import type { Attack } from '../hostile/attack.ts';
import type { LeavingPoint } from '../hostile/conversation.ts';
import { arrivals } from '../hostile/measures.ts';
import type { Fields } from '../hostile/names.ts';
import { billsOf, COUNT_ERROR, ESTIMATE_ERROR, stepNanos } from '../hostile/site.ts';
import type { TestKey } from '../support/gateway.ts';
import type { Conduct } from './dialogue.ts';
import type { ModelName } from './pricing.ts';
import { asks, type Direction, type Request, shown } from './requests.ts';
import { DialectSite } from './site.ts';

/** An attack in one direction. */
export interface DialectAttack extends Pick<Attack, 'claim' | 'unit' | 'most'> {
  readonly direction: Direction;
  /** Attacks, and returns the figure. */
  run(): Promise<number>;
}

/** A row of a table: what an attack claims, in its direction, and what it sends. */
export interface Row {
  readonly direction: Direction;
  /** Follows the direction in the claim. */
  readonly what: string;
  readonly fields: Fields;
  readonly model?: ModelName;
  readonly conduct?: Partial<Conduct>;
  readonly leaves?: LeavingPoint;
}

let opening: Promise<DialectSite> | undefined;

/** The site of all attacks of a test file. */
export function site(): Promise<DialectSite> {
  opening ??= DialectSite.open();
  return opening;
}

/** The next attack opens another. */
export async function closeSite(): Promise<void> {
  const open = opening;
  opening = undefined;
  await (await open)?.stop();
}

/** What a row sends. */
export function requestOf({ direction, fields, model, conduct = {}, leaves = 'never' }: Row): Request {
  return { client: direction.client, body: asks(direction, fields, model), conduct, leaves };
}

/** What all attacks of a row have in common. */
export function headOf({ direction, what }: Pick<Row, 'direction' | 'what'>) {
  return { direction, claim: `${shown(direction)}: ${what}` };
}

/** Requests of a key before the next one: to make keys takes longer than to read some rows. */
const REQUESTS_OF_A_KEY = 30;
let key: TestKey | undefined;
let rows = 0;

function nextKey(attacked: DialectSite): TestKey {
  if (key === undefined || rows >= REQUESTS_OF_A_KEY) {
    key = attacked.key();
    rows = 0;
  }
  return key;
}

interface Shares {
  /** What the host billed, of what was held when the request arrived there. */
  readonly hold: number;
  /** What the host billed, of what was charged. */
  readonly charge: number;
}

/** Sends a request, and waits for its charge. Without a bill both shares are 0. */
async function sharesOf(request: Request): Promise<Shares> {
  const attacked = await site();
  const key = nextKey(attacked);
  let heldNanos = 0;
  attacked.host.onArrival = () => {
    heldNanos = Number(attacked.gateway.heldNanos(key));
  };
  const outcome = await attacked.send(key, request);
  await attacked.settled([key], [outcome]);
  const [bill] = billsOf([outcome]);
  const own = attacked.gateway.rows(key).slice(rows);
  rows += own.length;
  if (bill === undefined) return { hold: 0, charge: 0 };
  const isCounted = own.some(({ source }) => source === 'counted');
  const charged = own.reduce((sum, { cost_nanos }) => sum + cost_nanos, 0) * (isCounted ? COUNT_ERROR : 1);
  // A stream that is stopped may have written one more event than the gateway has seen.
  const unseen = isCounted && bill.isStream ? stepNanos() : 0;
  return {
    hold: bill.costNanos / (heldNanos * ESTIMATE_ERROR),
    charge: bill.costNanos / (charged + unseen),
  };
}

/** What the host bills is held, but for the error of estimates, and charged. */
export function holds(row: Row): DialectAttack {
  return {
    ...headOf(row),
    unit: 'of what its hold and its charge cover',
    most: 1,
    async run() {
      const { hold, charge } = await sharesOf(requestOf(row));
      return Math.max(hold, charge);
    },
  };
}

/** What the host bills is charged: a reported figure exactly. */
export function charges(row: Row): DialectAttack {
  return {
    ...headOf(row),
    unit: 'of what its charge covers',
    most: 1,
    run: async () => (await sharesOf(requestOf(row))).charge,
  };
}

/** No host sees it. */
export function isRefused(row: Row): DialectAttack {
  return {
    ...headOf(row),
    unit: 'requests that reached the host',
    most: 0,
    run: async () => arrivals(await site(), requestOf(row)),
  };
}
