/** One request, as its sender and the truthful host know it: what the host is to do with it. */
import { type Bill, Conversation, type LeavingPoint } from '../hostile/conversation.ts';
import type { Alphabet } from '../hostile/texts.ts';

/** The dialects that take attacks here. */
export type DialectName = 'chat' | 'messages' | 'responses';

/** When a host reports its usage, and what it says. */
export type Report =
  /** As its dialect does: messages say their input first, the others everything in the end. */
  | 'end'
  /** Nothing before the end, and in messages only after the stop reason. */
  | 'late'
  /** Running totals in each event, with no output so far. */
  | 'each event'
  /** In the first event alone, with one token of output. */
  | 'early'
  | 'never'
  /** Figures that no request can have. */
  | { readonly impossible: unknown };

/** What the host does, whatever the request says. */
export interface Conduct {
  readonly alphabet: Alphabet;
  /** Where the model writes. */
  readonly field: 'text' | 'thinking' | 'call';
  /** How many tokens it writes, unless the request sets a maximum that the host reads. */
  readonly tokens: number;
  /** Tokens of thinking that the host bills and does not send. */
  readonly hidden: number;
  readonly report: Report;
  /** How many pieces of its text the host writes in one event. */
  readonly piecesAtOnce: number;
  /** How often the model searches the web, if the request has that tool. */
  readonly searches: number;
  /** An earlier pass over the conversation, which is billed with the answer. */
  readonly pass: { readonly input: number; readonly output: number } | undefined;
}

const CONDUCT: Conduct = {
  alphabet: 'prose',
  field: 'text',
  tokens: 100,
  hidden: 0,
  report: 'end',
  piecesAtOnce: 8,
  searches: 0,
  pass: undefined,
};

/** What a host bills besides tokens of input and output. */
export interface HostBill extends Bill {
  /** How long its host keeps its input in the prompt cache; undefined if it is not written there. */
  readonly cached: '5m' | '1h' | undefined;
  readonly searches: number;
}

export class Dialogue extends Conversation {
  readonly conduct: Conduct;

  constructor(id: string, conduct: Partial<Conduct> = {}, leaves: LeavingPoint = 'never') {
    super(id, {}, leaves);
    this.conduct = { ...CONDUCT, ...conduct };
  }
}
