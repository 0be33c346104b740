/** Attacks with large bodies that are refused, by the gateway or by the host: they cost nobody anything. */
import { billedNanos } from '../../hostile/site.ts';
import { type DialectAttack, headOf, isRefused, type Row, requestOf, site } from '../measures.ts';
import { ALL, type Direction, user } from '../requests.ts';

const LARGE = 'one '.repeat(10_000);
const ERROR_CHARACTERS = 600_000;

const byGateway = ALL.map((direction) =>
  isRefused({
    direction,
    what: '40 KB of text and a fault reach no host',
    fields: { ...user(direction.client, LARGE), temperature: 'hot' },
  }),
);

/** What is charged or held after a host has refused a large body, in nanodollars. */
async function leftOver(row: Row, status: number): Promise<number> {
  const attacked = await site();
  const key = attacked.key();
  const error = { type: 'error', error: { type: 'invalid_request_error', message: 'x'.repeat(ERROR_CHARACTERS) } };
  attacked.host.upstream.follow((call) => call.answer(status, error));
  try {
    const outcome = await attacked.send(key, requestOf(row));
    await attacked.settled([key], [outcome]);
    return billedNanos([outcome]) + attacked.charged(key) + Number(attacked.gateway.heldNanos(key));
  } finally {
    attacked.host.serve();
  }
}

const refusing = (direction: Direction, status: number): DialectAttack => {
  const what = `40 KB of text that its host refuses with a ${status} of 600 KB leave nothing behind`;
  const fields = user(direction.client, LARGE);
  return {
    ...headOf({ direction, what }),
    unit: 'nanodollars charged or held',
    most: 0,
    run: () => leftOver({ direction, what, fields }, status),
  };
};

export const REFUSED = {
  title: 'Large bodies that are refused, in other dialects',
  attacks: [...byGateway, ...ALL.flatMap((direction) => [400, 413].map((status) => refusing(direction, status)))],
};
