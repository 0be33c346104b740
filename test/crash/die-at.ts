/**
 * Loaded into a gateway before the program (`node --import`): kills the process at one point in the
 * life of a request. Methods of the built classes are wrapped for it, in whichever thread they run;
 * the program itself has no such hooks.
 */
import type { Exchange } from '../../src/http/exchange.ts';
import type { Attempt } from '../../src/upstream/attempt.ts';
import { ORDER_VARIABLE, type Order, type Point } from './points.ts';

const { point, model, nth }: Order = JSON.parse(process.env[ORDER_VARIABLE] ?? '');
let times = 0;

/** A request for that model has reached the point. */
function reached(): void {
  if (++times < nth) return;
  process.kill(process.pid, 'SIGKILL');
  // Nothing more may happen in this thread until the signal arrives.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/**
 * As `reached`, after the writes of this turn are with the operating system, which sends them in
 * any case.
 */
function reachedBehindWrites(): void {
  process.nextTick(reached);
}

/** A built module, with the types of its source. */
async function built<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../../build/${path}`, import.meta.url).href)) as Module;
}

type Side = 'before' | 'after';
type Method = (...values: never[]) => unknown;
type Hook<Part, Name extends keyof Part> = (
  part: Part,
  values: Parameters<Extract<Part[Name], Method>>,
  result: unknown,
) => void;

/** Calls the hook whenever a method is called, or has returned. */
function at<Part extends object, Name extends keyof Part>(
  side: Side,
  prototype: Part,
  name: Name,
  hook: Hook<Part, Name>,
): void {
  const original: unknown = prototype[name];
  if (typeof original !== 'function') throw new Error(`no such method: ${String(name)}`);
  prototype[name] = function (this: Part, ...values: Parameters<Extract<Part[Name], Method>>) {
    if (side === 'before') hook(this, values, undefined);
    const result: unknown = original.apply(this, values);
    if (side === 'after') hook(this, values, result);
    return result;
  } as Part[Name];
}

/**
 * A step of writing: before the statements, after them, or after the commit and before the answer.
 */
type Step = 'before' | 'written' | 'committed';

async function dieAtWriting(name: 'hold' | 'settle', step: Step): Promise<void> {
  const { Journal } = await built<typeof import('../../src/state/sqlite/journal.ts')>('state/sqlite/journal.js');
  const { LocalEngine } =
    await built<typeof import('../../src/ledger/local/local-engine.ts')>('ledger/local/local-engine.js');
  const side = step === 'before' ? 'before' : 'after';
  let unwritten = 0;
  let uncommitted = 0;
  const come = (written: { readonly model: string }) => {
    if (written.model !== model) return;
    if (step === 'committed') uncommitted++;
    else if (step === 'written') unwritten++;
    else reached();
  };
  const write = () => {
    for (; unwritten > 0; unwritten--) reached();
  };
  at('after', Journal.prototype, 'writeHolds', write);
  at('after', Journal.prototype, 'settle', write);
  if (name === 'hold') at(side, Journal.prototype, 'hold', (_, [hold]) => come(hold));
  else {
    at(side, Journal.prototype, 'settle', (_, [hold, end]) => {
      // The holds that the last process left open are settled at the start, and do not count.
      if (end.source !== 'held') come(hold);
    });
  }
  at('after', LocalEngine.prototype, 'process', () => {
    for (; uncommitted > 0; uncommitted--) reached();
  });
}

function isOfModel(upstreamModel: string): boolean {
  return model.endsWith(`/${upstreamModel}`);
}

async function dieBeforeDispatch(): Promise<void> {
  const { HttpUpstream } = await built<typeof import('../../src/upstream/http.ts')>('upstream/http.js');
  at('before', HttpUpstream.prototype, 'attempt', (_, [{ model: upstreamModel }]) => {
    if (isOfModel(upstreamModel)) reached();
  });
}

/** The attempts at requests for the model, and whether each is for a stream. */
async function watchAttempts() {
  const { Attempt } = await built<typeof import('../../src/upstream/attempt.ts')>('upstream/attempt.js');
  const { HttpUpstream } = await built<typeof import('../../src/upstream/http.ts')>('upstream/http.js');
  const attempts = new WeakMap<object, { readonly stream: boolean }>();
  at('after', HttpUpstream.prototype, 'attempt', (_, [{ request, model: upstreamModel }], attempt) => {
    if (isOfModel(upstreamModel)) attempts.set(attempt as Attempt, { stream: request.stream });
  });
  return { attempts, prototype: Attempt.prototype };
}

async function dieAfterDispatch(): Promise<void> {
  const { attempts, prototype } = await watchAttempts();
  at('after', prototype, 'begin', (attempt) => {
    // The HTTP client writes a request in the turn in which it reports its start.
    if (attempts.has(attempt)) reachedBehindWrites();
  });
}

/** The first bytes of the answer's body have arrived. */
async function dieBeforeFirstByte(): Promise<void> {
  const { attempts, prototype } = await watchAttempts();
  at('before', prototype, 'push', (attempt) => {
    if (attempts.delete(attempt)) reached();
  });
}

/** The first bytes were read, and in a stream passed on. */
async function dieAfterFirstByte(): Promise<void> {
  const { attempts, prototype } = await watchAttempts();
  const { Exchange } = await built<typeof import('../../src/http/exchange.ts')>('http/exchange.js');
  at('after', prototype, 'push', (attempt) => {
    if (attempts.get(attempt)?.stream === false && attempts.delete(attempt)) reached();
  });
  const begun = new WeakSet<Exchange>();
  at('after', Exchange.prototype, 'writeStream', (exchange) => {
    if (exchange.model !== model || begun.has(exchange)) return;
    begun.add(exchange);
    reachedBehindWrites();
  });
}

async function dieAtUsage(side: Side): Promise<void> {
  const { Dispatcher } = await built<typeof import('../../src/proxy/dispatch.ts')>('proxy/dispatch.js');
  const { Meter } = await built<typeof import('../../src/relay/meter.ts')>('relay/meter.js');
  // A meter does not know its request. Its reads may be in a turn of the event loop that belongs to another one.
  const meters = new WeakSet<object>();
  at('before', Dispatcher.prototype, 'dispatch', (_, [{ meter, request }]) => {
    if (request.model === model) meters.add(meter);
  });
  at(side, Meter.prototype, 'read', (meter, [{ usage }]) => {
    if (usage !== undefined && meters.has(meter)) reached();
  });
}

async function dieAtEnd(side: Side): Promise<void> {
  const { Exchange } = await built<typeof import('../../src/http/exchange.ts')>('http/exchange.js');
  const come = side === 'before' ? reached : reachedBehindWrites;
  for (const name of ['sendJson', 'endStream'] as const) {
    at(side, Exchange.prototype, name, (exchange) => {
      if (exchange.model === model) come();
    });
  }
}

const PLACES: Readonly<Record<Point, () => Promise<void>>> = {
  'before the hold': () => dieAtWriting('hold', 'before'),
  'hold written': () => dieAtWriting('hold', 'written'),
  'hold committed': () => dieAtWriting('hold', 'committed'),
  'before dispatch': dieBeforeDispatch,
  'after dispatch': dieAfterDispatch,
  'before the first byte': dieBeforeFirstByte,
  'after the first byte': dieAfterFirstByte,
  'before usage': () => dieAtUsage('before'),
  'after usage': () => dieAtUsage('after'),
  'before settlement': () => dieAtWriting('settle', 'before'),
  'settlement written': () => dieAtWriting('settle', 'written'),
  'settlement committed': () => dieAtWriting('settle', 'committed'),
  'before the end': () => dieAtEnd('before'),
  'after the end': () => dieAtEnd('after'),
};
await PLACES[point]();
