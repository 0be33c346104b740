/** Attacks by leaving early, in every dialect and through every translation. */
import type { LeavingPoint } from '../../hostile/conversation.ts';
import type { Fields } from '../../hostile/names.ts';
import type { Conduct, DialectName } from '../dialogue.ts';
import { charges } from '../measures.ts';
import { ALL, type Direction, MAXIMA, NATIVE, user } from '../requests.ts';

const MAXIMUM = 1_000;
const IDEOGRAPHS = '\u9f98\u9750'.repeat(500);

/** Only a client that asks for thinking reads any. */
export const THINKING: Readonly<Record<DialectName, Fields>> = {
  chat: {},
  messages: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
  responses: { reasoning: { effort: 'high', summary: 'auto' } },
};

interface Leave {
  readonly what: string;
  readonly leaves: LeavingPoint;
  fields?(direction: Direction): Fields;
  readonly conduct?: Partial<Conduct>;
  /** Whether a translation changes nothing of it. */
  readonly isNative?: true;
}

const STREAMS: readonly Leave[] = [
  { what: 'on its arrival', leaves: 'arrival', isNative: true },
  { what: 'after its first words', leaves: 'first piece', isNative: true },
  { what: 'in the middle', leaves: 'middle', conduct: { alphabet: 'letters', piecesAtOnce: 20 } },
  {
    what: 'in the middle of thinking',
    leaves: 'middle',
    fields: ({ client }) => THINKING[client],
    conduct: { field: 'thinking', piecesAtOnce: 20 },
  },
  { what: 'in the middle of a call', leaves: 'middle', conduct: { field: 'call', piecesAtOnce: 20 } },
  { what: 'after a long input', leaves: 'first piece', fields: ({ client }) => user(client, IDEOGRAPHS) },
  {
    what: 'whose running totals are 0',
    leaves: 'middle',
    conduct: { report: 'each event', piecesAtOnce: 40 },
    isNative: true,
  },
  { what: 'that reports nothing', leaves: 'middle', conduct: { report: 'never', piecesAtOnce: 40 }, isNative: true },
];
const WHOLES: readonly Leave[] = [
  { what: 'on its arrival', leaves: 'arrival' },
  {
    what: 'with hidden thinking',
    leaves: 'arrival',
    fields: ({ client }) => THINKING[client],
    conduct: { tokens: 100, hidden: 1_000 },
  },
  { what: 'that reports nothing', leaves: 'arrival', conduct: { report: 'never' }, isNative: true },
];

const left = ALL.flatMap((direction) =>
  [true, false].flatMap((stream) =>
    (stream ? STREAMS : WHOLES)
      .filter(({ isNative = false }) => !isNative || NATIVE.includes(direction))
      .map(({ what, leaves, fields, conduct }) =>
        charges({
          direction,
          what: `leaving ${stream ? 'a stream' : 'JSON'} ${what} is paid for`,
          fields: { stream, [MAXIMA[direction.client]]: MAXIMUM, ...fields?.(direction) },
          conduct: { tokens: MAXIMUM, ...conduct },
          leaves,
        }),
      ),
  ),
);

/** Where the client reads that an answer has ended before its host reports it. */
const AT_THE_END: readonly Direction[] = [
  { client: 'messages', host: 'messages' },
  { client: 'chat', host: 'messages' },
];

const atTheEnd = AT_THE_END.map((direction) =>
  charges({
    direction,
    what: 'leaving at the stop reason costs hidden thinking in full',
    fields: { stream: true },
    conduct: { tokens: 100, hidden: 5_000, report: 'late' },
    leaves: 'finish reason',
  }),
);

export const LEAVING = {
  title: 'Leaving early, in other dialects',
  attacks: [...left, ...atTheEnd],
};
