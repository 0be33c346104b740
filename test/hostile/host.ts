/**
 * A host that bills truthfully by o200k_base: for what it was sent and for what it wrote, by the
 * names that it reads. It goes on working for a JSON request whose client has left, and stops when
 * a stream is aborted.
 */
import { DONE, event } from '../support/answers.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import { counter } from '../support/gateway.ts';
import { inputTokens } from './bill.ts';
import { BillingHost, closedOf, turns } from './billing-host.ts';
import { ABORT_PATIENCE_MS, type Bill, type Conversation, ignoresMaximum, nextMoment, within } from './conversation.ts';
import { type Fields, type Reading, readRequest } from './names.ts';
import { priceOf } from './pricing.ts';
import { Writing } from './writing.ts';

/** How a host reads requests. The first segment of its path selects one. */
export interface Manner {
  readonly reading: Reading;
  /** The fields for a maximum that it reads, in order of precedence. */
  readonly maxima: readonly string[];
}

export const MANNERS = {
  exact: { reading: 'exact', maxima: ['max_completion_tokens', 'max_tokens'] },
  go: { reading: 'go', maxima: ['max_completion_tokens', 'max_tokens'] },
  old: { reading: 'exact', maxima: ['max_tokens'] },
  new: { reading: 'exact', maxima: ['max_completion_tokens'] },
} as const satisfies Record<string, Manner>;

export type MannerName = keyof typeof MANNERS;

/** The most tokens of one choice, whatever a request asks for. */
export const MAX_OUTPUT = 64_000;

/** A request as this host reads it. */
interface Order {
  readonly call: UpstreamCall;
  readonly conversation: Conversation;
  readonly fields: Fields;
  readonly bill: Bill;
  readonly writings: readonly Writing[];
}

export class TruthfulHost extends BillingHost<Conversation> {
  /** Requests in progress. */
  working = 0;

  static async start(): Promise<TruthfulHost> {
    return new TruthfulHost(await FakeUpstream.start());
  }

  protected async answer(call: UpstreamCall): Promise<void> {
    const manner = MANNERS[(call.path.split('/')[1] ?? '') as MannerName];
    const fields = readRequest(call.body, manner.reading);
    const conversation = this.announced(call, fields.user);
    if (conversation === undefined) return;
    const order = orderOf(call, conversation, fields, manner);
    conversation.arrived(order.bill);
    this.onArrival(conversation);
    this.working++;
    if (fields.stream === true) await writeStream(order);
    else await writeJson(order, this.released());
    this.working--;
    order.bill.isFinal = true;
  }
}

function orderOf(call: UpstreamCall, conversation: Conversation, fields: Fields, manner: Manner): Order {
  const declared = manner.maxima.map((name) => fields[name]).find((value) => typeof value === 'number');
  const declaredOutput = typeof declared === 'number' ? declared : undefined;
  const { wish } = conversation;
  const most = Math.min(wish.tokens, declaredOutput ?? wish.tokens, MAX_OUTPUT);
  const choices = typeof fields.n === 'number' ? fields.n : 1;
  const bill = {
    model: String(fields.model),
    reading: manner.reading,
    inputTokens: inputTokens(fields),
    declaredOutput,
    heldOutput: Math.max(
      0,
      ...MANNERS.exact.maxima.map((name) => fields[name]).filter((value) => typeof value === 'number'),
    ),
    serviceTier: typeof fields.service_tier === 'string' ? fields.service_tier : undefined,
    choices,
    isStream: fields.stream === true,
    from: nextMoment(),
    to: Number.POSITIVE_INFINITY,
    outputTokens: 0,
    costNanos: 0,
    isFinal: false,
  };
  reckon({ bill, conversation });
  const writings = Array.from({ length: choices }, () => new Writing(wish.alphabet, most, wish.blanks));
  return { call, conversation, fields, bill, writings };
}

function reckon({ bill, conversation }: Pick<Order, 'bill' | 'conversation'>): void {
  bill.costNanos = priceOf(bill, conversation.wish.special);
}

function enter({ conversation, bill, writings }: Order): void {
  const written = writings.reduce((sum, { written }) => sum + written.tokens, 0);
  bill.outputTokens = written + conversation.wish.hidden * writings.length;
  reckon({ bill, conversation });
}

function usageOf({ bill, conversation }: Order): Record<string, unknown> {
  const { inputTokens, outputTokens } = bill;
  const { cacheWrite = 0, audioInput = 0, audioOutput = 0 } = conversation.wish.special;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: cacheWrite, audio_tokens: audioInput },
    completion_tokens_details: { audio_tokens: audioOutput },
  };
}

/** The work is done and billed even if the client has left. */
async function writeJson(order: Order, gate: Promise<unknown>): Promise<void> {
  const { call, conversation, writings } = order;
  const { report, field } = conversation.wish;
  for (const writing of writings) writing.rest();
  enter(order);
  if (conversation.leaves !== 'never') {
    await conversation.left(closedOf(call));
    await turns();
  }
  await gate;
  order.bill.to = nextMoment();
  const choices = writings.map(({ written }, index) => ({
    index,
    message: { role: 'assistant', ...said(field, written.text) },
    finish_reason: 'stop',
  }));
  call.answer(200, { id: 'chatcmpl-1', choices, ...(report !== 'never' && { usage: usageOf(order) }) });
}

async function writeStream(order: Order): Promise<void> {
  const { call, conversation, fields, writings } = order;
  const { report, field, piecesAtOnce } = conversation.wish;
  const closed = closedOf(call);
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  const running = report === 'each chunk' ? { usage: { ...usageOf(order), completion_tokens: 0 } } : {};
  call.stream();
  for (let isWriting = true; isWriting; ) {
    isWriting = false;
    const events: string[] = [];
    for (const [index, writing] of writings.entries()) {
      const text = writing.several(piecesAtOnce);
      if (text === '') continue;
      isWriting = true;
      events.push(
        event({ id: 'chatcmpl-1', choices: [{ index, delta: said(field, text), finish_reason: null }], ...running }),
      );
    }
    if (!isWriting) break;
    const round = events.join('');
    // A model writes slower than a gateway decides: it is at most one round ahead of its reader.
    const bytesBefore = conversation.bytesRead + Buffer.byteLength(round) - 1;
    // Provisional: the gateway may stop the stream before the host notices, and this is the last
    // moment it was surely at work.
    order.bill.to = conversation.leftAt ?? nextMoment();
    call.send(round);
    await conversation.readBeyond(bytesBefore, closed);
    if (ignoresMaximum(order.bill)) await counted();
    // An abort ends the work at once; only a gateway that reads on gets more.
    if (conversation.hasLeft && !isClosed)
      await within(
        closed.then(() => true),
        ABORT_PATIENCE_MS,
      );
    if (isClosed) return enter(order);
    order.bill.to = Number.POSITIVE_INFINITY;
  }
  enter(order);
  const options = fields.stream_options;
  const isAsked =
    typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage;
  await endStream(order, isAsked === true && report !== 'never', closed);
}

/** The finish reasons; then, once the client has read them or left, the report. */
async function endStream(order: Order, reports: boolean, closed: Promise<void>): Promise<void> {
  const { call, conversation, writings } = order;
  const { bytesRead } = conversation;
  const ends = writings.map((_, index) =>
    event({ id: 'chatcmpl-1', choices: [{ index, delta: {}, finish_reason: 'stop' }] }),
  );
  call.send(ends.join(''));
  await conversation.readBeyond(bytesRead, closed);
  if (conversation.hasLeft) await turns();
  order.bill.to = conversation.leftAt ?? nextMoment();
  if (reports) call.send(event({ id: 'chatcmpl-1', choices: [], usage: usageOf(order) }));
  call.send(DONE);
  call.end();
}

/**
 * Resolves once the gateway has counted what it counts now. A stream does not wait until it is found out that its host writes
 * more than it was told, but no model writes faster than that.
 */
async function counted(): Promise<void> {
  await counter.count([''], [], 'courtesy');
}

function said(field: string, text: string): Record<string, unknown> {
  if (field !== 'tool call') return { [field]: text };
  return { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: text } }] };
}
