/** Responses that hosts keep, by the key that may refer to them. */
import { KEPT_MS, type KeptId, type KeptResponse } from '../core/kept-responses.ts';
import { type Dialect, type Operation, type PartLater, rows } from './operation.ts';

/** How many ids are added between two looks whether a key has too many: to count them takes milliseconds. */
const ADDED_BETWEEN_LOOKS = 1_000;

/** Of this part each store has its own: gateways with a role of their own write to a database by its functions. */
export abstract class KeptBook {
  readonly #find: string;
  /** Since the last look. */
  #added = Number.POSITIVE_INFINITY;

  constructor({ isAnyOf }: Dialect) {
    this.#find = `SELECT id, response_id, tokens, upstream, model FROM inf_gw.kept_responses
      WHERE key_id = $1 AND at_ms > $2 AND ${isAnyOf('id', '$3')}`;
  }

  /** Those of these ids that belong to a key. */
  *find(keyId: string, ids: readonly string[]): Operation<readonly KeptId[]> {
    const found = yield* rows(this.#find, [keyId, Date.now() - KEPT_MS, ids]);
    return found.map((row) => ({
      id: row.id as string,
      responseId: row.response_id as string,
      tokens: Number(row.tokens),
      upstream: row.upstream as string,
      model: row.model as string,
    }));
  }

  /** Adds a response and its items, and drops some of what is too old. */
  add(response: KeptResponse): Operation<void> {
    this.#added += idsOf(response).length;
    const isBounded = this.#added >= ADDED_BETWEEN_LOOKS;
    if (isBounded) this.#added = 0;
    return this.write(response, isBounded);
  }

  /** Forgets a response and its items. */
  abstract drop(keyId: string, responseId: string): Operation<void>;

  /** `isBounded`: drops some of the oldest of a key that has too many. */
  protected abstract write(response: KeptResponse, isBounded: boolean): Operation<void>;
}

export type KeptResponses = PartLater<Pick<KeptBook, 'find' | 'add' | 'drop'>>;

/** The id of a response, then those of its items, and the tokens of each. */
export function idsOf({
  id,
  tokens,
  items,
}: KeptResponse): readonly { readonly id: string; readonly tokens: number }[] {
  return [{ id, tokens }, ...items.filter((item) => item.id !== id)];
}
