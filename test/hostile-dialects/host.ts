/**
 * A host that speaks three dialects and bills truthfully: for what it was sent and for what it
 * wrote, by the names that it reads. It works on for a JSON request whose client has left, and stops
 * when a stream is aborted.
 */
import { BillingHost, closedOf, turns } from '../hostile/billing-host.ts';
import { ABORT_PATIENCE_MS, nextMoment, within } from '../hostile/conversation.ts';
import { type Fields, folded, type Reading, readRequest } from '../hostile/names.ts';
import { tokensIn } from '../hostile/tokens.ts';
import { Writing } from '../hostile/writing.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import type { Conduct, DialectName, Dialogue, HostBill, Loss } from './dialogue.ts';
import { callsOf, SWITCHES } from './host-tools.ts';
import {
  CONTEXT_WINDOW,
  costOf,
  DRAWING_MODEL,
  firstNanos,
  MAX_OUTPUT,
  REFUSING_FACTOR,
  REFUSING_MODEL,
} from './pricing.ts';
import { promptOf } from './prompt.ts';
import { CHAT } from './speech/chat.ts';
import { MESSAGES } from './speech/messages.ts';
import { RESPONSES } from './speech/responses.ts';
import { IMAGE_TOKENS, type Order, SPOKEN_TOKENS, type Speech } from './speech/speech.ts';

const SPEECHES: Readonly<Record<DialectName, Speech>> = { chat: CHAT, messages: MESSAGES, responses: RESPONSES };

/** How a host reads names. The first segment of its path selects a reading, the second its dialect. */
export const READINGS: readonly Reading[] = ['exact', 'go'];

const MAXIMA = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_tokens_to_sample'];
/** The names that hosts act on, of all dialects. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'system', 'input', 'instructions', 'tools', 'stream', 'stream_options', 'service_tier'],
  ...['n', 'functions', 'user', 'metadata', 'cache_control', 'thinking', 'max_tool_calls', ...MAXIMA, ...SWITCHES],
]);

export class DialectHost extends BillingHost<Dialogue> {
  static async start(): Promise<DialectHost> {
    return new DialectHost(await FakeUpstream.start());
  }

  protected async answer(call: UpstreamCall): Promise<void> {
    const [, reading, dialect] = call.path.split('/') as [string, Reading, DialectName];
    const fields = readRequest(call.body, reading, KNOWN);
    const dialogue = this.announced(call, fields.user ?? (fields.metadata as Fields | undefined)?.user_id);
    if (dialogue === undefined) return;
    if (fields.model === REFUSING_MODEL) {
      dialogue.isRefused = true;
      dialogue.refusedMaximum = maximumIn(fields, { reading, dialect });
      return call.answer(429, REFUSED, { 'retry-after': '3600' });
    }
    const speech = SPEECHES[dialect];
    const order = orderOf(call, dialogue, fields, { reading, dialect });
    dialogue.arrived(order.bill);
    this.onArrival(dialogue);
    await this.released();
    if (dialogue.conduct.end === 'filtered') filter(order);
    else if (dialogue.conduct.loss !== undefined) await lose(order, speech, dialogue.conduct.loss);
    else if (fields.stream === true) await writeStream(order, speech);
    else await writeJson(order, speech);
    order.bill.isFinal = true;
  }
}

const REFUSED = { error: { message: 'no capacity' } };

/** What Azure answers where it does not like an input. It bills it all the same. */
const FILTERED = {
  error: {
    message: 'The response was filtered due to the prompt triggering a content management policy.',
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: { violence: { filtered: true } } },
  },
};

function filter({ call, bill }: Order): void {
  bill.to = nextMoment();
  call.answer(400, FILTERED);
}

interface Manner {
  readonly reading: Reading;
  readonly dialect: DialectName;
}

/** A host that is careless with names takes any maximum. */
function maximumIn(fields: Fields, { reading, dialect }: Manner): number | undefined {
  const names = reading === 'go' ? MAXIMA : [SPEECHES[dialect].maximum];
  const declared = names.map((name) => fields[name]).filter((value) => typeof value === 'number');
  return declared.length === 0 ? undefined : Math.max(...declared);
}

function orderOf(call: UpstreamCall, dialogue: Dialogue, fields: Fields, { reading, dialect }: Manner): Order {
  const { conduct } = dialogue;
  const declaredOutput = maximumIn(fields, { reading, dialect });
  const most = Math.min(conduct.tokens, declaredOutput ?? MAX_OUTPUT, MAX_OUTPUT);
  const { tokens, audioTokens } = promptOf(dialect, fields);
  // A host that filters a prompt has run no tool.
  const calls = conduct.end === 'filtered' ? [] : callsOf({ dialect, reading, fields }, conduct);
  const taken = tokens + calls.length * conduct.found + (conduct.pass?.input ?? 0);
  const inputTokens = Math.min(taken, CONTEXT_WINDOW - most);
  const bill: HostBill = {
    model: String(fields.model),
    reading,
    inputTokens,
    audioInput: Math.min(audioTokens, inputTokens),
    declaredOutput,
    heldOutput: (declaredOutput ?? 0) + predictedIn(fields),
    isHeldWhole: dialogue.refusedMaximum !== undefined || fields.model === DRAWING_MODEL,
    refusedNanos: dialogue.isRefused ? REFUSING_FACTOR * firstNanos(inputTokens) : 0,
    serviceTier: typeof fields.service_tier === 'string' ? fields.service_tier : undefined,
    choices: 1,
    isStream: fields.stream === true,
    cached: dialect === 'messages' ? lifetimeIn(fields, reading) : undefined,
    calls,
    callNanos: calls.reduce((sum, { nanos }) => sum + nanos, 0),
    from: nextMoment(),
    to: Number.POSITIVE_INFINITY,
    outputTokens: 0,
    audioOutput: 0,
    imageOutput: 0,
    outputNanos: 0,
    costNanos: 0,
    isFinal: false,
  };
  bill.costNanos = costOf(bill);
  const [outputTokens, audioOutput] = conduct.field === 'speech' ? [1, 1] : [1, 0];
  bill.outputNanos = costOf({ ...bill, outputTokens, audioOutput }) - costOf({ ...bill, outputTokens: 0 });
  const mostWritten = conduct.field === 'speech' ? Math.floor(most / (1 + SPOKEN_TOKENS)) : most;
  return { call, dialogue, fields, bill, writing: new Writing(conduct.alphabet, mostWritten, 0), isDrawn: false };
}

/** The longest lifetime that a request asks for anywhere. A host that reads names without case sees more of them. */
function lifetimeIn(value: unknown, reading: Reading): '5m' | '1h' | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const nameOf = (name: string) => (reading === 'go' ? folded(name) : name);
  const found = Object.entries(value).map(([name, item]) => {
    if (nameOf(name) !== 'cache_control' || typeof item !== 'object' || item === null) return lifetimeIn(item, reading);
    const ttl = Object.entries(item).findLast(([each]) => nameOf(each) === 'ttl')?.[1];
    return ttl === '1h' ? ttl : '5m';
  });
  return found.includes('1h') ? '1h' : found.find((each) => each !== undefined);
}

function enter({ dialogue: { conduct }, fields, bill, writing, isDrawn }: Order): void {
  const written = writing.written.tokens;
  bill.audioOutput = conduct.field === 'speech' ? SPOKEN_TOKENS * written : 0;
  const hidden = Math.min(conduct.hidden, thinkingBudget(fields));
  const unseen = hidden + (conduct.pass?.output ?? 0) + (conduct.isUnpredicted ? predictedIn(fields) : 0);
  bill.imageOutput = isDrawn ? conduct.images * IMAGE_TOKENS : 0;
  bill.outputTokens = written + bill.audioOutput + bill.imageOutput + unseen;
  bill.costNanos = costOf(bill);
}

/** All that the model writes and draws. */
function finish(order: Order): void {
  order.writing.rest();
  order.isDrawn = true;
}

/** The most that a model may think, if the request says so. */
function thinkingBudget({ thinking }: Fields): number {
  const { type, budget_tokens: most } = (thinking ?? {}) as Fields;
  return type === 'enabled' && typeof most === 'number' ? most : Number.POSITIVE_INFINITY;
}

/** Tokens of what the request predicts. */
function predictedIn({ prediction }: Fields): number {
  const { content } = (prediction ?? {}) as Fields;
  return content === undefined ? 0 : tokensIn(typeof content === 'string' ? content : JSON.stringify(content));
}

/** What the host reports, at the beginning or in the end. */
function reportOf(order: Order, speech: Speech, isEnd: boolean): Fields | undefined {
  const { report }: Conduct = order.dialogue.conduct;
  if (report === 'never' || (report === 'early' && isEnd)) return undefined;
  const usage = speech.usage(order);
  if (typeof report === 'string') return usage;
  return Object.fromEntries(Object.entries(usage).map(([name]) => [name, report.impossible]));
}

/** How many pieces of a stream arrive before it is lost. */
const PIECES_BEFORE = 3;

/** The work is done and billed, but its end does not arrive. A stream is not billed beyond the text that was sent. */
async function lose(order: Order, speech: Speech, { how, after }: Loss): Promise<void> {
  const { call, dialogue, fields, bill, writing } = order;
  const { conduct } = dialogue;
  const closed = closedOf(call);
  const isStream = fields.stream === true;
  if (isStream && after !== 'nothing') call.stream();
  if (isStream && after === 'a part') {
    let before = speech.begin(order, reportOf(order, speech, false));
    for (let piece = 0; piece < PIECES_BEFORE; piece++) {
      const { bytesRead } = dialogue;
      call.send(before + speech.piece(order, writing.several(conduct.piecesAtOnce), undefined));
      before = '';
      await dialogue.readBeyond(bytesRead, closed);
    }
  } else finish(order);
  enter(order);
  if (!isStream && after !== 'nothing') {
    const body = JSON.stringify(speech.answer(order, reportOf(order, speech, true)));
    call.head(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) });
    if (after === 'a part') call.raw(body.slice(0, body.length / 2));
  }
  bill.to = nextMoment();
  bill.isLost = true;
  if (how === 'reset') call.reset();
  else await closed;
}

/** The work is done and billed even if the client has left. */
async function writeJson(order: Order, speech: Speech): Promise<void> {
  const { call, dialogue, bill } = order;
  finish(order);
  enter(order);
  if (dialogue.leaves !== 'never') {
    await dialogue.left(closedOf(call));
    await turns();
  }
  bill.to = nextMoment();
  const usage = reportOf(order, speech, false);
  if (dialogue.conduct.end === 'whole') return call.answer(200, speech.answer(order, usage));
  const { status, body } = speech.failedAnswer(order, usage);
  call.answer(status, body);
}

async function writeStream(order: Order, speech: Speech): Promise<void> {
  const { call, dialogue, bill, writing } = order;
  const { conduct } = dialogue;
  const closed = closedOf(call);
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  const start = dialogue.bytesRead;
  let sent = 0;
  /** Sends events, and waits for the reader. False once the work is stopped. */
  const say = async (events: string) => {
    sent += events.length;
    // A model writes slower than a gateway decides. What it speaks takes its reader a while, too.
    const before = conduct.field === 'speech' ? start + sent - events.length / 2 : dialogue.bytesRead;
    // Provisional: the gateway may stop the stream before the host notices.
    bill.to = dialogue.leftAt ?? nextMoment();
    call.send(events);
    await dialogue.readBeyond(before, closed);
    // An abort ends the work at once; only a gateway that reads on gets more.
    if (dialogue.hasLeft && !isClosed)
      await within(
        closed.then(() => true),
        ABORT_PATIENCE_MS,
      );
    if (!isClosed) bill.to = Number.POSITIVE_INFINITY;
    return !isClosed;
  };
  call.stream();
  const running = conduct.report === 'each event' ? speech.usage(order) : undefined;
  let before = speech.begin(order, reportOf(order, speech, false));
  for (let text = writing.several(conduct.piecesAtOnce); text !== ''; text = writing.several(conduct.piecesAtOnce)) {
    if (!(await say(before + speech.piece(order, text, running)))) return enter(order);
    before = '';
  }
  order.isDrawn = true;
  enter(order);
  const { bytesRead } = dialogue;
  call.send(before + speech.finish(order));
  if (dialogue.leaves === 'finish reason') {
    await dialogue.readBeyond(bytesRead, closed);
    await turns();
  }
  bill.to = dialogue.leftAt ?? nextMoment();
  const report = reportOf(order, speech, true);
  call.send(conduct.end === 'whole' ? speech.end(order, report) : speech.failure(order, report));
  call.end();
}
