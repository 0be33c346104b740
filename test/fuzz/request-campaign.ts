/** Mutated requests against a host that always answers soundly: no answer may be a fault of the gateway or of the host. */
import { answering, chunk, completion, DONE, streaming, usageChunk } from '../support/answers.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Random } from '../support/random.ts';
import { RawConnection } from '../support/raw.ts';
import { type Campaign, type CaseResult, connectionFaults, seedOf } from './campaign.ts';
import { send } from './client.ts';
import { judge } from './oracle.ts';
import { drawRequest } from './requests.ts';
import { type FuzzSite, followLong, secretsOf, VENDOR_MODEL } from './site.ts';

/** How long a client of a mutated request waits for more: the gateway may be waiting for more, too. */
const PATIENCE_MS = 120;
/** And one that must be served. */
const LONG_PATIENCE_MS = 60_000;
/** How often an answer changes between processes and threads on its way. */
const STEPS = 5;
/** What the gateway may send to the host. */
const HEADERS = [
  ...['host', 'connection', 'content-type', 'accept-encoding', 'user-agent', 'authorization', 'x-operator', 'accept'],
  'content-length',
];

const COMPLETION = completion('sound');
const STREAM = [chunk('sound'), chunk('', 'stop'), usageChunk(), DONE];

export class RequestCampaign implements Campaign {
  readonly name = 'requests';
  readonly faults: string[] = [];
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
    const { pieces, isSound, requests, leaves } = drawn;
    const received = await send({
      port: this.#fuzz.site.port,
      pieces,
      answers: leaves ? 0 : requests,
      patienceMs: isSound ? LONG_PATIENCE_MS : PATIENCE_MS,
      ask: () => this.#askForHealth(),
    });
    const sent = Buffer.concat(pieces);
    const { answers, isCut, faults } = judge(received.bytes, {
      secrets: secretsOf(this.#fuzz),
      mayLackBodies: sent.includes('HEAD'),
      isClosed: received.wasClosed,
    });
    const all = [...faults, ...connectionFaults(received)];
    // The host is sound, and it is there.
    if (answers.some(({ status }) => status === 502)) all.push('502, though the host is sound');
    if (isSound && (isCut || answers.length !== 1 || answers[0]?.status !== 200))
      all.push('a sound request was not served');
    return { answers, faults: all, sent, received: received.bytes };
  }

  /** Takes as long as an answer does on a machine as busy as this one, by way of the gateway, its ledger and the host. */
  async #askForHealth(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      const connection = await RawConnection.open(this.#fuzz.site.port);
      connection.send('GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n');
      await connection.rest();
    }
  }

  /** The gateway is a client of the host: what it sends must be sound, whatever it was sent itself. */
  #answer(call: UpstreamCall): void {
    const body = JSON.parse(call.body) as { model: unknown; stream?: unknown };
    const names = call.headerLines.map(([name]) => name.toLowerCase());
    const unknown = names.filter((name) => !HEADERS.includes(name));
    if (unknown.length > 0) this.faults.push(`the host was sent ${unknown}`);
    if (new Set(names).size !== names.length) this.faults.push(`the host was sent a header twice: ${names}`);
    if (body.model !== VENDOR_MODEL) this.faults.push(`the host was asked for ${JSON.stringify(body.model)}`);
    if (`${call.method} ${call.path}` !== 'POST /calm/v1/chat/completions')
      this.faults.push(`${call.method} ${call.path}`);
    void (body.stream === true ? streaming(...STREAM) : answering(COMPLETION))(call);
  }
}
