/**
 * The edits of one writer: drawn at random, and recorded as the manual says that they work. Pure.
 */
import type { NewKeyJson } from '../support/cli.ts';
import type { Random } from '../support/random.ts';
import { MODELS, TIER } from './site.ts';

/** A writer's key, as its last edit left it. */
export interface OwnKey {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
  state: 'enabled' | 'disabled' | 'deleted';
  rpm: number;
  tpm: number;
  spendLimitUsd: string | null;
  allowlist: readonly string[] | null;
}

/** A command, and the change that it makes. */
export interface Edit {
  readonly words: readonly string[];
  /**
   * Records that the command has returned. Returns the key to check; undefined after a change of
   * the balance.
   */
  done(printed: string): OwnKey | undefined;
}

/** The answer that a request with a key must get. */
export interface Expected {
  readonly outcome: string;
  readonly limitRequests: number;
  readonly limitTokens: number;
}

/** The number of keys that a writer has at a time. */
const MOST_KEYS = 8;
const FEWEST_KEYS = 3;
/** Within this range no request is refused, and each value shows in the headers. */
const RPM_RANGE = [1_000_000, 2_000_000] as const;
const TPM_RANGE = [1_000_000_000, 2_000_000_000] as const;
/** Each writer owns one decimal digit of the balance. */
const MOST_UNITS = 9;

type AllowlistEdit = readonly [verb: string, named: readonly string[], result: readonly string[] | null];

const ALLOWLISTS: readonly (readonly string[])[] = [[MODELS.free], [MODELS.paid], [MODELS.free, MODELS.paid]];

export class Edits {
  readonly keys: OwnKey[] = [];
  /** The sum of this writer's entries, in units of `unitUsd`. */
  units = 0;
  entries = 0;
  readonly unitUsd: number;
  readonly #name: string;
  readonly #random: Random;
  readonly #live: OwnKey[] = [];
  #created = 0;

  constructor(writer: number, random: Random) {
    this.#name = `writer${writer}`;
    this.unitUsd = 10 ** writer;
    this.#random = random;
  }

  draw(): Edit {
    const random = this.#random;
    const key = this.#live[random.between(0, this.#live.length - 1)];
    if (key === undefined || this.#live.length < FEWEST_KEYS) return this.#create();
    const kinds = [
      ...Array(4).fill(() => this.#toggle(key)),
      ...Array(4).fill(() => this.#limit(key)),
      ...Array(4).fill(() => this.#allow(key)),
      ...Array(5).fill(() => this.#credit()),
      ...(this.#live.length < MOST_KEYS ? [() => this.#create(), () => this.#rotate(key)] : []),
      ...(this.#live.length > FEWEST_KEYS ? [() => this.#delete(key)] : []),
    ] as readonly (() => Edit)[];
    return (kinds[random.between(0, kinds.length - 1)] as () => Edit)();
  }

  #create(): Edit {
    const rpm = this.#random.between(...RPM_RANGE);
    const words = ['keys', 'create', `${this.#name}x${++this.#created}`, '--rpm', String(rpm), '--json'];
    return this.#adding(words, { state: 'enabled', rpm, tpm: TIER.tpm, spendLimitUsd: null, allowlist: null });
  }

  #rotate(key: OwnKey): Edit {
    return this.#adding(['keys', 'rotate', this.#wordFor(key), '--json'], { ...key, state: 'enabled' });
  }

  #adding(words: readonly string[], settings: Omit<OwnKey, 'id' | 'name' | 'secret'>): Edit {
    return {
      words,
      done: (printed) => {
        const { id, name, key: secret } = JSON.parse(printed) as NewKeyJson;
        const key = { ...settings, id, name, secret };
        this.keys.push(key);
        this.#live.push(key);
        return key;
      },
    };
  }

  #toggle(key: OwnKey): Edit {
    const [verb, state] =
      key.state === 'enabled' ? (['disable', 'disabled'] as const) : (['enable', 'enabled'] as const);
    return this.#changing(key, ['keys', verb, this.#wordFor(key)], { state });
  }

  #delete(key: OwnKey): Edit {
    const edit = this.#changing(key, ['keys', 'delete', this.#wordFor(key), '--yes'], { state: 'deleted' });
    return {
      words: edit.words,
      done: (printed) => {
        this.#live.splice(this.#live.indexOf(key), 1);
        return edit.done(printed);
      },
    };
  }

  #limit(key: OwnKey): Edit {
    const random = this.#random;
    const drawn = (range: readonly [number, number]) => (random.chance(0.3) ? undefined : random.between(...range));
    const rpm = drawn(RPM_RANGE);
    const words = ['limits', 'set', this.#wordFor(key), '--rpm', String(rpm ?? 'default')];
    const change: Partial<OwnKey> = { rpm: rpm ?? TIER.rpm };
    if (random.chance(0.5)) {
      const tpm = drawn(TPM_RANGE);
      words.push('--tpm', String(tpm ?? 'default'));
      change.tpm = tpm ?? TIER.tpm;
    }
    if (random.chance(0.5)) {
      const spendLimitUsd = [null, '0.00', '25.00'][random.between(0, 2)] as string | null;
      words.push('--spend-limit', spendLimitUsd ?? 'none');
      change.spendLimitUsd = spendLimitUsd;
    }
    return this.#changing(key, words, change);
  }

  #allow(key: OwnKey): Edit {
    const models = ALLOWLISTS[this.#random.between(0, ALLOWLISTS.length - 1)] as readonly string[];
    const current = key.allowlist;
    const edits: readonly AllowlistEdit[] = [
      ['set', models, models],
      ['clear', [], null],
      // A key without an allowlist has nothing to add to, or to remove from.
      current === null ? ['set', models, models] : ['add', models, [...new Set([...current, ...models])]],
      current === null ? ['clear', [], null] : ['remove', models, current.filter((model) => !models.includes(model))],
    ];
    const [verb, named, allowlist] = edits[this.#random.between(0, edits.length - 1)] as AllowlistEdit;
    return this.#changing(key, ['allowlist', verb, this.#wordFor(key), ...named], { allowlist });
  }

  #credit(): Edit {
    const adds = this.units === 0 || (this.units < MOST_UNITS && this.#random.chance(0.5));
    const units = this.#random.between(1, adds ? MOST_UNITS - this.units : this.units);
    const note = `${this.#name} entry ${this.entries + 1}`;
    return {
      words: ['credit', adds ? 'add' : 'remove', String(units * this.unitUsd), '--note', note],
      done: () => {
        this.units += adds ? units : -units;
        this.entries++;
        return undefined;
      },
    };
  }

  #changing(key: OwnKey, words: readonly string[], change: Partial<OwnKey>): Edit {
    return { words, done: () => Object.assign(key, change) };
  }

  #wordFor({ id, name }: OwnKey): string {
    return this.#random.chance(0.5) ? id : name;
  }
}

/** The answer to a request for the free model with a key in that state. */
export function expectedOf(key: OwnKey): Expected {
  if (key.state === 'deleted') {
    return { outcome: '401 invalid_api_key', limitRequests: TIER.rpm, limitTokens: TIER.tpm };
  }
  return { outcome: outcomeOf(key), limitRequests: key.rpm, limitTokens: key.tpm };
}

function outcomeOf({ state, allowlist, spendLimitUsd }: OwnKey): string {
  if (state === 'disabled') return '403 api_key_disabled';
  if (allowlist !== null && !allowlist.includes(MODELS.free)) return '403 model_not_allowed';
  return spendLimitUsd === '0.00' ? '402 spend_limit_reached' : '200';
}
