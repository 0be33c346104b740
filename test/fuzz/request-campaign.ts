/**
 * Mutated requests to a host whose responses are always valid: none may cause an error of the
 * gateway or the host.
 */
import { answering, chunk, completion, DONE, streaming, usageChunk } from '../support/answers.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Random } from '../support/random.ts';
import { RawConnection } from '../support/raw.ts';
import { type Campaign, type CaseResult, connectionProblems, seedOf } from './campaign.ts';
import { send } from './client.ts';
import { judge } from './oracle.ts';
import { drawRequest } from './requests.ts';
import { type FuzzSite, followLong, secretsOf, VENDOR_MODEL } from './site.ts';

/**
 * How long the client of a mutated request waits for more: the gateway may be waiting for more too.
 */
const PATIENCE_MS = 120;
/** The same for a request that must be served. */
const LONG_PATIENCE_MS = 60_000;
/** How many times a response passes between processes and threads on its way. */
const STEPS = 5;
/** The headers that the gateway may send to the host. */
const HEADERS = [
  ...['host', 'connection', 'content-type', 'accept-encoding', 'user-agent', 'authorization', 'x-operator', 'accept'],
  'content-length',
];

const COMPLETION = completion('valid');
const STREAM = [chunk('valid'), chunk('', 'stop'), usageChunk(), DONE];

export class RequestCampaign implements Campaign {
  readonly name = 'requests';
  readonly problems: string[] = [];
  readonly #fuzz: FuzzSite;
  readonly #seed: number;

  constructor(fuzz: FuzzSite, seed: number) {
    this.#fuzz = fuzz;
    this.#seed = seed;
  }

  begin(): void {
    followLong(this.#fuzz, (call) => this.#answer(call));
  }

  async run(number: number): Promise<CaseResult> {
    const drawn = drawRequest(new Random(seedOf(this.#seed, number)), this.#fuzz.secrets);
    const { pieces, isValid, requests, leaves } = drawn;
    const received = await send({
      port: this.#fuzz.place.port,
      pieces,
      answers: leaves ? 0 : requests,
      patienceMs: isValid ? LONG_PATIENCE_MS : PATIENCE_MS,
      ask: () => this.#askForHealth(),
    });
    const sent = Buffer.concat(pieces);
    const { answers, isCut, problems } = judge(received.bytes, {
      secrets: secretsOf(this.#fuzz),
      mayLackBodies: sent.includes('HEAD'),
      isClosed: received.wasClosed,
    });
    const all = [...problems, ...connectionProblems(received)];
    // The host is healthy and reachable.
    if (answers.some(({ status }) => status === 502)) all.push('502, although the host is healthy');
    if (isValid && (isCut || answers.length !== 1 || answers[0]?.status !== 200))
      all.push('a valid request was not served');
    return { answers, problems: all, sent, received: received.bytes };
  }

  /**
   * Takes about as long as a response through gateway, ledger and host does on a machine this busy.
   */
  async #askForHealth(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      const connection = await RawConnection.sending(
        this.#fuzz.place.port,
        'GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n',
      );
      await connection.rest();
    }
  }

  /** The gateway is a client of the host: what it sends must be valid, whatever it received. */
  #answer(call: UpstreamCall): void {
    const body = JSON.parse(call.body) as { model: unknown; stream?: unknown };
    const names = call.headerLines.map(([name]) => name.toLowerCase());
    const unknown = names.filter((name) => !HEADERS.includes(name));
    if (unknown.length > 0) this.problems.push(`the host was sent ${unknown}`);
    if (new Set(names).size !== names.length) this.problems.push(`the host was sent a header twice: ${names}`);
    if (body.model !== VENDOR_MODEL) this.problems.push(`the host was asked for ${JSON.stringify(body.model)}`);
    if (`${call.method} ${call.path}` !== 'POST /calm/v1/chat/completions')
      this.problems.push(`${call.method} ${call.path}`);
    void (body.stream === true ? streaming(...STREAM) : answering(COMPLETION))(call);
  }
}
