/** What clients of each dialect send, and what they read of the answer before they leave. */
import type { LeavingPoint } from '../hostile/conversation.ts';
import type { Fields, Reading } from '../hostile/names.ts';
import { countOf, MIDDLE_PIECES } from '../hostile/sender.ts';
import type { Conduct, DialectName, Field } from './dialogue.ts';
import type { ModelName } from './pricing.ts';

/** A client's dialect, its host's, and how that reads names. */
export interface Direction {
  readonly client: DialectName;
  readonly host: DialectName;
  readonly reading?: Reading;
}

export const NATIVE: readonly Direction[] = [
  { client: 'messages', host: 'messages' },
  { client: 'responses', host: 'responses' },
];
export const TRANSLATED: readonly Direction[] = [
  { client: 'chat', host: 'messages' },
  { client: 'messages', host: 'chat' },
  { client: 'responses', host: 'chat' },
  { client: 'responses', host: 'messages' },
];
export const ALL: readonly Direction[] = [...NATIVE, ...TRANSLATED];

export function shown({ client, host }: Direction): string {
  return client === host ? client : `${client} at a host of ${host}`;
}

/** Where a request goes, what it says, and what its host and its client do. */
export interface Request {
  readonly client: DialectName;
  readonly body: Fields;
  readonly conduct?: Partial<Conduct>;
  readonly leaves?: LeavingPoint;
}

export function providerOf({ host, reading = 'exact' }: Omit<Direction, 'client'>): string {
  return `${host}-${reading}`;
}

/** More than any model writes here. */
const AMPLE_MAXIMUM = 60_000;

/** The shortest conversation. A message needs a maximum. */
const BASES: Readonly<Record<DialectName, Fields>> = {
  chat: { messages: [{ role: 'user', content: 'Hello' }] },
  messages: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: AMPLE_MAXIMUM },
  responses: { input: 'Hello' },
};

/** What a client of the dialect sends. */
export function asks(direction: Direction, fields: Fields = {}, model: ModelName = 'cheap'): Fields {
  return { model: `${providerOf(direction)}/${model}`, ...BASES[direction.client], ...fields };
}

/** The field for the maximum of output tokens. */
export const MAXIMA: Readonly<Record<DialectName, string>> = {
  chat: 'max_tokens',
  messages: 'max_tokens',
  responses: 'max_output_tokens',
};

/** The conversation of a user who says this: a text, or parts in the dialect. */
export function user(client: DialectName, content: unknown): Fields {
  const messages = [{ role: 'user', content }];
  return client === 'responses' ? { input: messages } : { messages };
}

/** The body with the id by which the host knows it. */
export function signed({ client, body }: Request, id: string): string {
  const name = client === 'messages' ? { metadata: { user_id: id } } : { user: id };
  return JSON.stringify({ ...name, ...body });
}

export const PATHS: Readonly<Record<DialectName, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** What a client reads with each text, and what when all texts are there. */
const MARKS: Readonly<Record<DialectName, { readonly text: string; readonly finish: string }>> = {
  chat: { text: '"finish_reason":null', finish: '"finish_reason":"stop"' },
  messages: { text: 'event: content_block_delta', finish: '"stop_reason":"end_turn"' },
  responses: { text: '.delta\n', finish: 'event: response.output_item.done' },
};

/** What it reads with each text of what is written elsewhere. */
const UNUSUAL_MARKS: Partial<Record<Field, string>> = {
  'redacted thinking': '"type":"redacted_thinking"',
  'sealed reasoning': 'event: response.output_item.done',
};

/** Whether a client that leaves at this point leaves now. */
export function isReached(client: DialectName, leaves: LeavingPoint, field: Field = 'text'): (text: string) => boolean {
  const { text: usual, finish } = MARKS[client];
  const mark = UNUSUAL_MARKS[field] ?? usual;
  switch (leaves) {
    case 'first piece':
      return (text) => text.includes(mark);
    case 'middle':
      return (text) => countOf(text, mark) >= MIDDLE_PIECES;
    case 'finish reason':
    case 'report':
      return (text) => text.includes(finish);
    default:
      return () => false;
  }
}
