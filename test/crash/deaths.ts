/** Gateways on one state file that each die at a named point, and what the next one finds. */
import { fileURLToPath } from 'node:url';
import { DONE } from '../support/answers.ts';
import type { Serving } from '../support/cli.ts';
import { Random } from '../support/random.ts';
import { RawConnection } from '../support/raw.ts';
import type { Scope } from '../support/run-scope.ts';
import { bounded, until } from '../support/wait.ts';
import { Books } from './books.ts';
import { openSite, type Site } from './cycles.ts';
import { Load, type Sent } from './load.ts';
import { PATIENT_SERVE } from './patient-serve.ts';
import { drawPlan, fieldsOf, inputEstimate, modelOf, type Plan, reported } from './plan.ts';
import { DOOMED, type Fate, ORDER_VARIABLE, type Order, POINTS, type Point, type Received } from './points.ts';
import { auditDifferences, readState, type Snapshot } from './state-file.ts';

const PRELOAD = fileURLToPath(new URL('./die-at.ts', import.meta.url));
/** How many other requests have ended when the doomed one is sent. As many again are in flight. */
const OTHERS = 10;
const SEED = 14;

export interface Life {
  /** Where it ends. */
  readonly point: Point;
  /** Whether other requests have ended and are in flight when the process dies. */
  readonly amongOthers: boolean;
}

type Kind = 'json' | 'stream';

/** Every second point, from that index on; every second of those among other requests. */
export function everySecond(first: 0 | 1): Life[] {
  const points = POINTS.filter((_, index) => index % 2 === first);
  return points.map((point, index) => ({ point, amongOthers: index % 2 === first }));
}

/**
 * All points in order, every second one among other requests: `first` says whether that starts with
 * the first point.
 */
export function alternating(first: boolean): Life[] {
  return POINTS.map((point, index) => ({ point, amongOthers: (index % 2 === 0) === first }));
}

/** What was found of the request at which the process died, and everything else that is wrong. */
export interface Findings {
  readonly seen: number;
  readonly row: string;
  readonly received: Received;
  readonly deviations: readonly string[];
}

/** The death of a gateway: the request at which it died, and the others. */
interface Death {
  readonly doomed: Sent;
  readonly received: Received;
  readonly others: readonly Sent[];
  /** False if the process went on beyond its point. */
  readonly isDead: boolean;
}

/** What the table expects of a request of that kind, in the form of the findings. */
export function expected(fate: Fate, kind: Kind): Findings {
  return { seen: fate.seen, row: fate.row, received: fate[kind], deviations: [] };
}

export class Deaths {
  readonly #site: Site;
  readonly #kind: Kind;
  readonly #random = new Random(SEED);
  readonly #books: Books;
  #serving: Serving | undefined;
  /** The gateway that is running. */
  #life: Life | undefined;
  #balanceNanos: bigint;
  #marker = 0;
  /** Until the client of the doomed model has the start of its stream, or will not get it. */
  #begun = Promise.withResolvers<void>();

  private constructor(site: Site, kind: Kind) {
    this.#site = site;
    this.#kind = kind;
    this.#books = new Books(site.keyIds);
    this.#balanceNanos = readState(site.place.statePath).balanceNanos;
    const { middleOf } = site.host;
    // The two halves of its stream must not arrive together: the client has the first before the
    // second is sent.
    site.host.middleOf = (plan) => (plan.model === DOOMED ? this.#begun.promise : middleOf(plan));
  }

  static async begin(scope: Scope, kind: Kind, first: Life | undefined): Promise<Deaths> {
    const deaths = new Deaths(await openSite(scope), kind);
    await deaths.#start(first);
    return deaths;
  }

  /**
   * Sends the request at which this gateway dies, starts the next one, and checks what it finds.
   */
  async die(next: Life | undefined): Promise<Findings> {
    const { place, host, plans } = this.#site;
    host.forget();
    plans.clear();
    const { doomed, received, others, isDead } = await this.#liveAndDie();
    const problems = isDead ? [] : ['the process did not die at its point'];
    problems.push(...auditDifferences(place.statePath));
    const killed = readState(place.statePath, this.#books.position);
    await this.#start(next);
    problems.push(...auditDifferences(place.statePath));
    const restarted = readState(place.statePath, this.#books.position);
    const seen = host.seen();
    this.#books.check({ sent: [...others, doomed], killed, restarted, seen, returned: [] });
    problems.push(...this.#books.deviations.splice(0), ...this.#problemsOfBalance(restarted));
    return {
      seen: seen.get(doomed.plan.marker) ?? 0,
      row: rowOf(doomed.plan, restarted),
      received,
      deviations: problems,
    };
  }

  /** Stops the last gateway cleanly. Returns what is wrong with everything that was recorded. */
  async finish(): Promise<string[]> {
    const { place, host } = this.#site;
    const status = await this.#serving?.stop();
    if (status !== 0) this.#books.deviations.push(`the gateway ended with status ${status}`);
    this.#books.close(place.statePath, host.seen());
    const audit = await place.run(['audit']);
    if (audit.status !== 0) this.#books.deviations.push(`inf-gw audit: ${audit.stdout}${audit.stderr}`);
    return this.#books.deviations;
  }

  /** Without an order it runs until it is stopped. */
  async #start(life: Life | undefined): Promise<void> {
    const { place } = this.#site;
    this.#life = life;
    if (life === undefined) {
      this.#serving = await place.serve(PATIENT_SERVE);
      return;
    }
    // Among others, one request of the doomed model survives: the intended request must die, not
    // the first one.
    const order: Order = { point: life.point, model: `host/${DOOMED}`, nth: life.amongOthers ? 2 : 1 };
    place.environment[ORDER_VARIABLE] = JSON.stringify(order);
    this.#serving = await place.serve(['--import', PRELOAD, ...PATIENT_SERVE]);
  }

  async #liveAndDie(): Promise<Death> {
    const serving = this.#serving as Serving;
    let ordinal = 0;
    const others: Sent[] = [];
    let load: Load | undefined;
    if (this.#life?.amongOthers) {
      others.push((await this.#send(serving, ordinal++)).sent);
      load = new Load(serving, this.#site.secrets, () => this.#drawOther(ordinal++));
      await until(() => (load?.sent.length ?? 0) >= OTHERS);
      load.stop();
    }
    const { sent: doomed, received } = await this.#send(serving, ordinal++);
    const isDead = await bounded(serving.ended, 'its death').then(
      ({ signal }) => signal === 'SIGKILL',
      () => false,
    );
    // Otherwise the next gateway could not start.
    if (!isDead) serving.signal('SIGKILL');
    await Promise.all([serving.ended, load?.ended]);
    return { doomed, received, others: [...others, ...(load?.sent ?? [])], isDead };
  }

  /**
   * Sends a request for the doomed model, and collects its answer until the connection is closed.
   */
  async #send(serving: Serving, ordinal: number): Promise<{ sent: Sent; received: Received }> {
    const plan = this.#note({
      ...drawPlan(++this.#marker, ordinal, this.#random),
      kind: this.#kind,
      key: 'app',
      model: DOOMED,
    });
    const atMs = performance.now();
    const connection = await RawConnection.open(Number(new URL(serving.url).port));
    this.#begun = Promise.withResolvers();
    connection.send(requestOf(plan, this.#site.secrets.app));
    // Throws if the connection is closed before.
    await connection.has('data: ').catch(() => {});
    this.#begun.resolve();
    const bytes = await connection.rest();
    const [head = '', text = ''] = bytes.split('\r\n\r\n', 2);
    const requestId = /^x-request-id: (.+)$/im.exec(head)?.[1];
    const isWhole = isWholeAnswer(bytes);
    const answer = isWhole ? { status: Number(head.split(' ')[1]), text } : undefined;
    const received = isWhole ? 'all' : bytes === '' ? 'nothing' : 'part';
    return { sent: { plan, atMs, requestId, answer, problem: undefined }, received };
  }

  #drawOther(ordinal: number): Plan {
    const plan = drawPlan(++this.#marker, ordinal, this.#random);
    return this.#note(plan.model === DOOMED ? { ...plan, model: 'even' } : plan);
  }

  #note(plan: Plan): Plan {
    this.#site.plans.set(plan.marker, plan);
    return plan;
  }

  /** The balance has decreased by the cost of the new rows. */
  #problemsOfBalance({ journal, balanceNanos }: Snapshot): string[] {
    const due = journal.reduce((balance, row) => balance - row.cost_nanos, this.#balanceNanos);
    this.#balanceNanos = balanceNanos;
    return balanceNanos === due ? [] : [`the balance is ${balanceNanos} instead of ${due}`];
  }
}

/** Whether a row has the figures of a request, reported or estimated. */
function rowOf(plan: Plan, { journal }: Snapshot): string {
  const own = [reported(plan).prompt, inputEstimate(plan)];
  const rows = journal.filter((row) => row.model === modelOf(plan) && own.includes(row.prompt_tokens));
  return rows.map(({ source }) => source).join() || 'none';
}

function requestOf(plan: Plan, secret: string): string {
  const body = JSON.stringify(fieldsOf(plan));
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** Whether the answer is as long as its header says, or has the final event of a stream. */
function isWholeAnswer(bytes: string): boolean {
  const length = /^content-length: (\d+)$/im.exec(bytes)?.[1];
  if (length === undefined) return bytes.includes(DONE);
  return Buffer.byteLength(bytes.slice(bytes.indexOf('\r\n\r\n') + 4)) === Number(length);
}
