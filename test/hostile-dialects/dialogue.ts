/** One request, as its sender and the truthful host know it: what the host is to do with it. */
import { type Bill, Conversation, type LeavingPoint } from '../hostile/conversation.ts';
import type { Alphabet } from '../hostile/texts.ts';
import type { HostCall } from './host-tools.ts';

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

/** Where a model writes: in the usual places of all dialects, or in one that only some hosts have. */
export type Field = 'text' | 'thinking' | 'call' | (typeof UNUSUAL_FIELDS)[DialectName][number];

export const UNUSUAL_FIELDS = {
  /** Sound with its words, thinking as an object, and thinking within the content. */
  chat: ['speech', 'thinking details', 'thinking parts'],
  /** Of what is compacted, or thought and not shown, there is a sealed copy as long as the text. */
  messages: ['compaction', 'sealed compaction', 'signature', 'redacted thinking'],
  /** The same of reasoning; code for a container. */
  responses: ['reasoning text', 'sealed reasoning', 'code'],
} as const;

/** How an answer ends. */
export type End =
  | 'whole'
  /** With an error after all that was written, and a report. */
  | 'failed'
  /** Before it begins: the host has read the input, and bills that alone. */
  | 'filtered';

/** How the gateway loses a host that works on and bills all the same. */
export interface Loss {
  readonly how: 'silence' | 'reset';
  /** The part of its response that it sends before. */
  readonly after: 'nothing' | 'the head' | 'a part';
}

/** What the host does, whatever the request says. */
export interface Conduct {
  readonly alphabet: Alphabet;
  readonly field: Field;
  /** How many tokens it writes, unless the request sets a maximum that the host reads. */
  readonly tokens: number;
  /** Tokens of thinking that the host bills and does not send. */
  readonly hidden: number;
  readonly report: Report;
  /** How many pieces of its text the host writes in one event. */
  readonly piecesAtOnce: number;
  /** How often the model calls each of the host's tools, if the request has any. */
  readonly calls: number;
  /** How many pages it opens beside its searches. */
  readonly opened: number;
  /** Tokens of input that each call, and each page, brings in. */
  readonly found: number;
  /** Whether the model writes anything else than the request predicts: then what it predicts is billed as output. */
  readonly isUnpredicted: boolean;
  /** Images behind the text of an answer, which the host reports among its other tokens unless `isImageTold`. */
  readonly images: number;
  readonly isImageTold: boolean;
  readonly end: End;
  /** Undefined if its response arrives as `end` says. */
  readonly loss: Loss | undefined;
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
  calls: 0,
  opened: 0,
  found: 0,
  isUnpredicted: false,
  images: 0,
  isImageTold: true,
  end: 'whole',
  loss: undefined,
  pass: undefined,
};

/** What a host bills besides tokens of input and output. */
export interface HostBill extends Bill {
  /** How long its host keeps its input in the prompt cache; undefined if it is not written there. */
  readonly cached: '5m' | '1h' | undefined;
  /** Of its own tools. */
  readonly calls: readonly HostCall[];
  /** What those cost together, in nanodollars. */
  readonly callNanos: number;
  /** Of the tokens of input and output, those of sound. */
  readonly audioInput: number;
  audioOutput: number;
  imageOutput: number;
}

export class Dialogue extends Conversation {
  readonly conduct: Conduct;
  /** The maximum in a request that its host has refused. The gateway holds for it when a fallback serves the request. */
  refusedMaximum: number | undefined;
  /** Whether a host has refused the request. A fallback serves it. */
  isRefused = false;

  constructor(id: string, conduct: Partial<Conduct> = {}, leaves: LeavingPoint = 'never') {
    super(id, {}, leaves);
    this.conduct = { ...CONDUCT, ...conduct };
  }
}
