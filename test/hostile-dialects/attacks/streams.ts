/** Attacks with streams that outgrow their hold: how they are cut, and what is charged for them. */
import { billedOverBalance, overLimit, steps } from '../../hostile/measures.ts';
import { billedNanos, COUNT_ERROR, stepNanos } from '../../hostile/site.ts';
import type { Outcome } from '../../hostile/truthful-site.ts';
import type { Conduct, DialectName } from '../dialogue.ts';
import { type DialectAttack, headOf, requestOf, site } from '../measures.ts';
import { ALL, type Direction, type Request } from '../requests.ts';

const TOKENS = 500;
const RACING = 4;
const ONE_LIMIT_NANOS = steps(2);
const RACE_LIMIT_NANOS = steps(RACING);

function outgrowing(direction: Direction, conduct: Partial<Conduct> = {}): Request {
  const more = { tokens: TOKENS, piecesAtOnce: 4, ...conduct };
  return requestOf({ direction, what: '', fields: { stream: true }, model: 'growing', conduct: more });
}

const passed = ALL.flatMap((direction): readonly DialectAttack[] => [
  {
    ...headOf({
      direction,
      what: `a stream of ${TOKENS} tokens of a call passes a balance for 200 by one step at most`,
    }),
    ...overLimit('balance', ONE_LIMIT_NANOS, steps(1)),
    run: async () => billedOverBalance(await site(), ONE_LIMIT_NANOS, [outgrowing(direction, { field: 'call' })]),
  },
  {
    ...headOf({ direction, what: `${RACING} racing streams pass a balance by one step each at most` }),
    ...overLimit('balance', RACE_LIMIT_NANOS, steps(RACING)),
    run: async () => billedOverBalance(await site(), RACE_LIMIT_NANOS, Array(RACING).fill(outgrowing(direction))),
  },
]);

/** The end of what a client reads of a stream that is cut. */
const CUTS: Readonly<Record<DialectName, (code: string) => RegExp>> = {
  chat: (code) => new RegExp(`\n\ndata: {"error":{"code":"${code}","message":"[^"]+"}}\n\ndata: \\[DONE\\]\n\n$`),
  messages: (code) =>
    new RegExp(
      `\n\nevent: error\ndata: {"type":"error","error":{"type":"billing_error","code":"${code}","message":"[^"]+"},"request_id":"req_[^"]+"}\n\n$`,
    ),
  responses: (code) =>
    new RegExp(
      `\n\nevent: response.failed\ndata: {"type":"response.failed","sequence_number":\\d+,"response":{[^\n]*"status":"failed"[^\n]*"error":{"code":"${code}","message":"[^"]+"}[^\n]*}\n\n$`,
    ),
};
/** What only an answer that is whole ends with. */
const WHOLE: Readonly<Record<DialectName, string>> = {
  chat: '"finish_reason":"stop"',
  messages: 'message_stop',
  responses: 'response.completed',
};

/** What the client has read, without the framing of chunks. */
function bodyOf({ text }: Outcome): string {
  const chunks = text.slice(text.indexOf('\r\n\r\n') + 4);
  return chunks.replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '').replace(/\r\n$/, '');
}

const CODES = { balance: 'insufficient_credit', 'spend limit': 'spend_limit_reached' } as const;

/** How much of a cut is not as its dialect has it, or is not paid for. */
async function faultsOfCut(direction: Direction, limit: keyof typeof CODES): Promise<number> {
  const attacked = await site();
  const isBalance = limit === 'balance';
  const key = attacked.key(isBalance ? {} : { spendLimitNanos: BigInt(ONE_LIMIT_NANOS) });
  if (isBalance) attacked.setBalance(ONE_LIMIT_NANOS);
  const outcome = await attacked.send(key, outgrowing(direction));
  await attacked.settled([key], [outcome]);
  const charged = attacked.charged(key);
  attacked.resetBalance();
  const body = bodyOf(outcome);
  const faults = [
    !CUTS[direction.client](CODES[limit]).test(body),
    body.includes(WHOLE[direction.client]),
    direction.client !== 'chat' && body.includes('[DONE]'),
    attacked.gateway.rows(key).some(({ outcome: ended }) => ended !== CODES[limit]),
    billedNanos([outcome]) > charged * COUNT_ERROR + stepNanos(),
  ];
  return faults.filter(Boolean).length;
}

const cut = ALL.flatMap((direction) =>
  (['balance', 'spend limit'] as const).map(
    (limit): DialectAttack => ({
      ...headOf({ direction, what: `a stream cut by its ${limit} ends as its dialect says, and is paid for` }),
      unit: 'faults of the cut',
      most: 0,
      run: () => faultsOfCut(direction, limit),
    }),
  ),
);

export const STREAMS = {
  title: 'Streams that outgrow their hold, in other dialects',
  attacks: [...passed, ...cut],
};
