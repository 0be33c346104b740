/** Attacks with requests that their hosts work on and bill, and whose end the gateway does not see. */
import type { Conduct, Loss } from '../../hostile-dialects/dialogue.ts';
import { type Direction, type Request, shown, TRANSLATED } from '../../hostile-dialects/requests.ts';
import { DialectSite } from '../../hostile-dialects/site.ts';
import type { Attack, Family } from '../attack.ts';
import { billedOverCharged, OVER_CHARGED, overLimit, steps } from '../measures.ts';
import type { Fields } from '../names.ts';
import { billedNanos, DEFAULT_OUTPUT } from '../site.ts';
import { NANOS_PER_USD, type Outcome } from '../truthful-site.ts';
import { bounded, CHAT, DIRECTIONS, MESSAGES, RESPONSES } from './dialect-requests.ts';

const MAXIMUM = 10_000;
const WRITTEN = 9_000;
const SHOWN = 200;
const BUDGET = 4_000;

const LOSSES: readonly Loss[] = (['silence', 'reset'] as const).flatMap((how) =>
  (['nothing', 'the head', 'a part'] as const).map((after) => ({ how, after })),
);
const SILENT: Loss = { how: 'silence', after: 'nothing' };
const LOST_ANYWHERE =
  'falls silent for longer than the timeouts or resets its connection, before its response, after the head of it or within it';

function lost(direction: Direction, loss: Loss, fields: Fields = {}, conduct: Partial<Conduct> = {}): Request {
  return bounded(direction, MAXIMUM, fields, 'cheap', { conduct: { tokens: WRITTEN, loss, ...conduct } });
}

/** The worst figure of requests that are lost in each way. */
async function worst(site: DialectSite, requestFor: (loss: Loss) => Request): Promise<number> {
  const figures: number[] = [];
  for (const loss of LOSSES) figures.push(await billedOverCharged(site, requestFor(loss)));
  return Math.max(...figures);
}

const whole = [...DIRECTIONS, ...TRANSLATED].map(
  (direction): Attack => ({
    claim: `JSON of ${shown(direction)} is charged as held wherever its host is lost`,
    passes: 'balance',
    tries: `asks for JSON of ${shown(direction)} from a host that writes and bills ${WRITTEN.toLocaleString('en')} tokens, and ${LOST_ANYWHERE}`,
    ...OVER_CHARGED,
    run: async (workshop) => worst(await workshop.impatient(), (loss) => lost(direction, loss)),
  }),
);

const SPENT_NANOS = NANOS_PER_USD / 2;
const IN_A_ROW = 8;

const inARow: Attack = {
  claim: 'requests that time out pass a spend limit by one request at most',
  tries: `${IN_A_ROW} requests one after another, each of which its host bills with ${WRITTEN.toLocaleString('en')} tokens and never answers, with a spend limit of 0.50 USD`,
  ...overLimit('spend limit', SPENT_NANOS, steps(MAXIMUM / DEFAULT_OUTPUT)),
  run: async (workshop) => {
    const site = await workshop.impatient();
    const key = site.key({ spendLimitNanos: BigInt(SPENT_NANOS) });
    const outcomes: Outcome[] = [];
    for (let sent = 0; sent < IN_A_ROW; sent++) outcomes.push(await site.send(key, lost(CHAT, SILENT)));
    await site.settled([key], outcomes);
    return billedNanos(outcomes) / SPENT_NANOS;
  },
};

/** How a request asks for reasoning that its host does not show, and how much of it the host bills. */
const REASONING: readonly (readonly [how: string, direction: Direction, fields: Fields, hidden: number])[] = [
  ['`reasoning_effort`', CHAT, { reasoning_effort: 'high' }, WRITTEN],
  ['`thinking: adaptive`', MESSAGES, { thinking: { type: 'adaptive', display: 'omitted' } }, WRITTEN],
  [
    `a \`budget_tokens\` of ${BUDGET.toLocaleString('en')}`,
    MESSAGES,
    { thinking: { type: 'enabled', budget_tokens: BUDGET } },
    BUDGET,
  ],
  ['`reasoning.effort`', RESPONSES, { reasoning: { effort: 'high' } }, WRITTEN],
];

const streamed = REASONING.map(
  ([how, direction, fields, hidden]): Attack => ({
    claim: `hidden reasoning in a stream of ${direction.client} with ${how} is charged wherever its host is lost`,
    passes: 'balance',
    tries: `a stream of ${direction.client} with ${how}, whose host bills ${hidden.toLocaleString('en')} tokens of reasoning without showing them, and ${LOST_ANYWHERE}`,
    ...OVER_CHARGED,
    run: async (workshop) =>
      worst(await workshop.impatient(), (loss) =>
        lost(direction, loss, { stream: true, ...fields }, { tokens: SHOWN, hidden }),
      ),
  }),
);

const unanswered = DIRECTIONS.map(
  (direction): Attack => ({
    claim: `a stream of ${direction.client} that never begins is charged as held`,
    passes: 'balance',
    tries: `a stream of ${direction.client} whose host writes ${WRITTEN.toLocaleString('en')} tokens, of which a proxy passes none on before the timeout`,
    ...OVER_CHARGED,
    run: async (workshop) => billedOverCharged(await workshop.impatient(), lost(direction, SILENT, { stream: true })),
  }),
);

type End = (site: DialectSite, id: string) => Promise<unknown>;

const ENDS: readonly (readonly [who: string, end: End])[] = [
  ['the operator stops', (site, id) => site.gateway.stopRequest(id)],
  ['a shutdown ends after `drain`', (site) => site.gateway.drain(0)],
];

/** What the host billed over what was charged, of a request that the gateway ends while its host works. */
async function billedOverEnded(request: Request, end: End): Promise<number> {
  const site = await DialectSite.open();
  try {
    const key = site.key();
    const ended = Promise.withResolvers<unknown>();
    site.host.onArrival = () => {
      const [id = ''] = site.gateway.heldIds(key);
      ended.resolve(end(site, id));
    };
    const outcome = await site.send(key, request);
    await ended.promise;
    await site.gateway.row(key);
    return billedNanos([outcome]) / (site.charged(key) + steps(1));
  } finally {
    await site.stop();
  }
}

const HIDDEN: Partial<Conduct> = { tokens: SHOWN, hidden: WRITTEN };
const IN_FLIGHT: readonly (readonly [what: string, request: Request])[] = [
  ['JSON', lost(CHAT, SILENT)],
  ['a stream with hidden reasoning', lost(CHAT, SILENT, { stream: true, reasoning_effort: 'high' }, HIDDEN)],
];

const ended = ENDS.flatMap(([who, end]) =>
  IN_FLIGHT.map(
    ([what, request]): Attack => ({
      claim: `${what} that ${who} is charged as held`,
      passes: 'balance',
      tries: `asks for ${what}, which ${who} while its host works on`,
      ...OVER_CHARGED,
      run: () => billedOverEnded(request, end),
    }),
  ),
);

export const LOST: Family = {
  title: 'Ends that the gateway does not see',
  about:
    'A host works on, and bills that, although the gateway has given up waiting, has lost the connection or has stopped. Only a complete error, or a connection that was never made, proves that no work was done.',
  attacks: [...whole, inARow, ...streamed, ...unanswered, ...ended],
};
