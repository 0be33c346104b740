/** The key of a command, made over HTTP by a key that may make others: nothing of the gateway has to be on this machine. */
import type { Config } from '../../config/config.ts';
import { type LoadOptions, loadConfig } from '../../config/load.ts';
import { isWellFormedKey } from '../../core/api-key.ts';
import { isoTime } from '../../core/clock.ts';
import { UserError } from '../../core/errors.ts';
import { formatUsd, parseUsd } from '../../core/money.ts';
import { program } from '../../core/program.ts';
import { count, duration, exactUsd } from '../../operator/format.ts';
import { type Field, fieldLines, type Look, marked } from '../../operator/table.ts';
import { KEY_VARIABLE } from '../clients/clients.ts';
import { notice } from '../output.ts';
import type { Desk, EndedCommand, LeashedKey, Receipt, UntilIdle } from './desk.ts';
import { defaultName, type LeashTerms } from './leash.ts';
import { isOutOfReach, variableOverHttp } from './outer.ts';
import { cutField, endingText, UNUSED } from './receipt.ts';

/** In milliseconds. */
const ANSWER_MS = 30_000;

/** A key as `/v1/keys` shows it. */
interface ChildJson {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly expires_at: string | null;
  readonly budgets: readonly { readonly period: string; readonly limit_usd: string; readonly spent_usd: string }[];
  readonly month: { readonly requests: number; readonly tokens: number };
  /** Of a key that is deleted; undefined from a gateway that does not count them. */
  readonly cut_answers?: number;
}

/** A key as it sees itself. */
interface OwnJson {
  readonly limits: { readonly concurrency: number };
  readonly remaining: { readonly concurrency: number };
  readonly budgets: ChildJson['budgets'];
  readonly expires_at: string | null;
}

/**
 * With the gateway and the key that the environment names, which may be those of a run around this one. Undefined if it
 * names none, or if the state that is meant is here: that of a config, or of that run. Where the key can make no other
 * it is undefined, too, and why is said: the command runs with another gateway than the one that is named.
 */
export async function httpDesk(options: LoadOptions): Promise<Desk | undefined> {
  const { INF_GW_RUN: outer = '', INF_GW_URL: url = '', [KEY_VARIABLE]: key = '' } = options.environment;
  if (url === '' || key === '') return undefined;
  if (outer !== '' && !isOutOfReach(options.environment)) return undefined;
  const config = loadConfig(options);
  if (outer === '' && config.path !== undefined) return undefined;
  let why = 'INF_GW_URL is not an address';
  if (URL.canParse(url)) {
    const desk = new HttpDesk(new URL(url).origin, key, config);
    const problem = await desk.problem();
    if (problem === undefined) return desk;
    why = problem;
  }
  notice(`note: the gateway and the key in INF_GW_URL and ${KEY_VARIABLE} are not used: ${why}`);
  return undefined;
}

class HttpDesk implements Desk {
  readonly url: string;
  readonly config: Config;
  readonly #parentKey: string;
  #child: LeashedKey | undefined;

  constructor(url: string, parentKey: string, config: Config) {
    this.url = url;
    this.config = config;
    this.#parentKey = parentKey;
  }

  /** Why the key makes no other; undefined if it does. */
  async problem(): Promise<string | undefined> {
    if (!isWellFormedKey(this.#parentKey)) return `${KEY_VARIABLE} is not a whole key`;
    const answer = await this.#send('GET', '/v1/keys').catch(() => undefined);
    if (answer === undefined) return `${this.url} cannot be reached`;
    if (answer.ok) return undefined;
    if (answer.status === 404)
      return `the key may not create others; \`${program()} keys create --may-create\` makes one that may`;
    return (await readAnswer(answer)).error?.message ?? `${this.url} answers ${answer.status}`;
  }

  /** Only the gateway's own machine can ask it. */
  async keyRefusal(): Promise<undefined> {}

  async make(file: string, { maxUsd, expiresAtMs, allow, name = defaultName(file) }: LeashTerms): Promise<LeashedKey> {
    const { expires_at: parentExpires, budgets } = await this.#ask<OwnJson>('GET', '/v1/key');
    const most = parseUsd(budgets.find(({ period }) => period === 'total')?.limit_usd ?? '') ?? maxUsd;
    if (most < maxUsd)
      notice(`note: the key that makes this one has ${exactUsd(most)} USD, which is the most for this one`);
    const seconds = Math.ceil((expiresAtMs - Date.now()) / 1_000);
    const isWithin = parentExpires === null || expiresAtMs <= Date.parse(parentExpires);
    const asked = {
      name,
      budgets: { total: formatUsd(most < maxUsd ? most : maxUsd) },
      // A key that ends before ends this one as well.
      ...(isWithin && { expires_in: `${seconds}s` }),
      ...(allow !== undefined && { allowlist: allow }),
      cap_output: true,
    };
    const { id, name: given, key: secret } = await this.#ask<ChildJson>('POST', '/v1/keys', asked);
    this.#child = { id, name: given, secret };
    return this.#child;
  }

  variables(keyId: string): NodeJS.ProcessEnv {
    return variableOverHttp(keyId);
  }

  async end(ended: EndedCommand, untilIdle: UntilIdle): Promise<Receipt> {
    const { id, secret } = this.#child as LeashedKey;
    const endedAtMs = Date.now();
    await untilIdle(() => this.#inFlight(secret));
    const child = await this.#ask<ChildJson>('DELETE', `/v1/keys/${id}`);
    return receiptOf(child, { ...ended, endedAtMs, url: this.url });
  }

  async stop(): Promise<void> {}

  /** Zero for a key whose time is over. */
  async #inFlight(secret: string): Promise<number> {
    const answer = await this.#send('GET', '/v1/key', undefined, secret);
    if (answer.status !== 200) return 0;
    const { limits, remaining } = (await answer.json()) as OwnJson;
    return limits.concurrency - remaining.concurrency;
  }

  /** Throws a UserError with what the gateway says. */
  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.#send(method, path, body).catch((error: Error) => {
      throw new UserError(`the gateway at ${this.url} cannot be asked: ${error.message}`);
    });
    const said = await readAnswer<T>(answer);
    if (answer.ok) return said;
    throw new UserError(
      `the gateway at ${this.url} refuses to create such a key: ${said.error?.message ?? answer.status}`,
    );
  }

  #send(method: string, path: string, body?: object, key = this.#parentKey): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  }
}

type Answer<T> = T & { readonly error?: { readonly message: string } };

/** What answers in the gateway's place, such as a proxy, may have no words of it. */
async function readAnswer<T>(answer: Response): Promise<Answer<T>> {
  return (await answer.json().catch(() => ({}))) as Answer<T>;
}

interface EndedHere extends EndedCommand {
  readonly endedAtMs: number;
  readonly url: string;
}

/** What the key itself knows: the journal is elsewhere. */
function receiptOf(child: ChildJson, ended: EndedHere): Receipt {
  const { command, ending, startedAtMs, endedAtMs, url } = ended;
  const { id, name, month, expires_at: expires } = child;
  const total = child.budgets.find(({ period }) => period === 'total');
  const [limit, spent] = [parseUsd(total?.limit_usd ?? '') ?? 0n, parseUsd(total?.spent_usd ?? '') ?? 0n];
  const isOver = expires !== null && endedAtMs >= Date.parse(expires);
  const leash = spent >= limit ? 'budget' : isOver ? 'time' : null;
  const fields = (): Field[] => [
    ['leash', leash === null ? marked('not reached', 'good') : marked(`its ${leash} stopped it`, 'warn')],
    ['cost', `${exactUsd(spent)} of ${exactUsd(limit)} USD`],
    ['requests', month.requests === 0 ? marked(UNUSED, 'warn') : count(month.requests)],
    ['tokens', count(month.tokens)],
    ...cutField(child.cut_answers),
    ['key', `${name} (${id}), deleted`],
    ['gateway', url],
  ];
  const title = `${command} ended ${endingText(ending)} after ${duration((endedAtMs - startedAtMs) / 1_000)}`;
  return {
    lines: (look: Look) => ['', look.paint(title, 'bold'), ...fieldLines(fields(), look)],
    json: () => ({
      command,
      status: ending.status,
      signal: ending.signal ?? null,
      started_at: isoTime(startedAtMs),
      ended_at: isoTime(endedAtMs),
      key: { id, name },
      budget_usd: formatUsd(limit),
      expires_at: expires,
      leash,
      requests: month.requests,
      total_tokens: month.tokens,
      cut_answers: child.cut_answers ?? null,
      cost_usd: formatUsd(spent),
      gateway: url,
    }),
  };
}
