/** Requests of attacks that go through several dialects. */
import type { ModelName } from '../../hostile-dialects/pricing.ts';
import { asks, type Direction, MAXIMA, NATIVE, type Request } from '../../hostile-dialects/requests.ts';
import type { Fields } from '../names.ts';

export const CHAT: Direction = { client: 'chat', host: 'chat' };
export const [MESSAGES, RESPONSES] = NATIVE as readonly [Direction, Direction];
export const DIRECTIONS: readonly Direction[] = [CHAT, ...NATIVE];

/** Racing requests of an attack, and of its short form in the tests of every day. */
export const RACING = 20;
const FEW = 6;

export function racing(request: Request, isLong: boolean, count = RACING): Request[] {
  return Array(isLong ? count : FEW).fill(request);
}

type Doing = Pick<Request, 'conduct' | 'leaves'>;

/** A request with these fields. */
export function asking(direction: Direction, fields: Fields, model: ModelName = 'cheap', doing: Doing = {}): Request {
  return { client: direction.client, body: asks(direction, fields, model), ...doing };
}

/** The same with a maximum. */
export function bounded(
  direction: Direction,
  maximum: number,
  fields: Fields,
  model?: ModelName,
  doing?: Doing,
): Request {
  return asking(direction, { [MAXIMA[direction.client]]: maximum, ...fields }, model, doing);
}
