/**
 * Attacks by leaving early: at the end of the text but before the report, or while a host works
 * that will bill it all.
 */
import type { Attack, Family } from '../attack.ts';
import { billedOverCharged, OVER_CHARGED } from '../measures.ts';
import { asks, type HostileSite, type Request } from '../site.ts';
import { AMPLE, type Outcome } from '../truthful-site.ts';

const stream = (wish: Request['wish'], leaves: Request['leaves'] = 'never'): Request => ({
  body: asks('exact', { stream: true }),
  wish: { tokens: 2_000, piecesAtOnce: 8, ...wish },
  leaves,
});
const json = (fields = {}): Request => ({
  body: asks('exact', fields),
  wish: { tokens: 2_000 },
  leaves: 'arrival',
});

type Row = readonly [claim: string, tries: string, site: 'plain' | 'silent', request: Request];

const ROWS: readonly Row[] = [
  [
    'leaving at the finish reason costs as much as staying',
    'leaves a stream with 5,000 tokens of hidden reasoning at its finish reason, before the report',
    'plain',
    stream({ hidden: 5_000, tokens: 50 }, 'finish reason'),
  ],
  [
    'leaving at the finish reason costs input in full',
    'the same, after an input of 2,000 ideographs',
    'plain',
    {
      ...stream({ tokens: 50 }, 'finish reason'),
      body: asks('exact', { stream: true, messages: [{ role: 'user', content: '\u9f98\u9750'.repeat(1_000) }] }),
    },
  ],
  [
    'a report of 0 tokens of output is not the last word',
    'leaves in the middle of a stream whose every chunk reports 0 tokens of output',
    'plain',
    stream({ report: 'each chunk', piecesAtOnce: 40 }, 'middle'),
  ],
  [
    'leaving a stream in the middle costs what was written',
    'leaves a stream of tool calls in the middle',
    'plain',
    stream({ field: 'tool call', piecesAtOnce: 40 }, 'middle'),
  ],
  [
    'blanks before dense text do not hide it',
    'has 300,000 blanks written, then ideographs, at a host that reports no usage',
    'silent',
    stream({ blanks: 300_000, tokens: 9_000, alphabet: 'ideographs', piecesAtOnce: 20, report: 'never' }),
  ],
  [
    'a long dense stream without a report is charged in full',
    'has 60,000 tokens of digits and letters written, at a host that reports no usage',
    'silent',
    stream({ tokens: 60_000, alphabet: 'letters', piecesAtOnce: 40, report: 'never' }),
  ],
  [
    'blanks before dense input do not hide it',
    'sends 300,000 blanks and then ideographs, and leaves in the middle of the stream',
    'plain',
    {
      ...stream({ piecesAtOnce: 40 }, 'middle'),
      body: asks('exact', {
        stream: true,
        messages: [{ role: 'user', content: ' '.repeat(300_000) + '\u9f98\u9750'.repeat(5_000) }],
      }),
    },
  ],
  ['a JSON request that is left is paid for', 'leaves a JSON request as soon as it is at the host', 'plain', json()],
  [
    'a JSON request of many choices that is left is paid for',
    'leaves a JSON request with `n: 20`',
    'plain',
    json({ n: 20 }),
  ],
];

const forMoney: Attack[] = ROWS.map(([claim, tries, name, request]) => ({
  claim,
  passes: 'balance',
  tries,
  ...OVER_CHARGED,
  run: async (workshop) => billedOverCharged(await workshop.site(name), request),
}));

const SLOTS = 2;
const LEFT = 20;

/**
 * The most requests of a key that the host works on at once, of many that are left one after
 * another.
 */
async function mostAtOnce(site: HostileSite): Promise<number> {
  const key = site.key({ ...AMPLE, concurrency: SLOTS });
  const release = site.host.holdAnswers();
  const outcomes: Outcome[] = [];
  for (let sent = 0; sent < LEFT; sent++) outcomes.push(await site.send(key, json()));
  const most = site.host.working;
  release();
  await site.settled([key], outcomes);
  return most;
}

const forSlots: Attack = {
  claim: 'JSON requests that are left keep their slots while their host works',
  passes: 'slot',
  tries: `leaves ${LEFT} JSON requests one after another, with ${SLOTS} slots`,
  unit: 'times the slots in use at the host',
  most: 1,
  run: async (workshop) => (await mostAtOnce(await workshop.site('plain'))) / SLOTS,
};

export const LEAVING: Family = {
  title: 'Leaving early',
  about:
    'A client that leaves sees no usage, and neither may the gateway. Hosts go on working for a JSON request whose client has left, and bill all of it.',
  attacks: [...forMoney, forSlots],
};
