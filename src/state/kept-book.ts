/** The owners of responses that hosts store: only the key that created a response may refer to it. */
import { KEPT_MS, type KeptId, type KeptResponse } from '../core/kept-responses.ts';
import { type Dialect, type Operation, type PartLater, rows } from './operation.ts';

/** Number of ids added between two checks of a key's limit: counting takes milliseconds. */
const ADDED_BETWEEN_LOOKS = 1_000;

/**
 * Response ownership. Each store implements the writes: on PostgreSQL, gateways with restricted roles write through
 * functions.
 */
export abstract class KeptBook {
  readonly #find: string;
  /** Ids added since the last check. */
  #added = Number.POSITIVE_INFINITY;

  constructor({ isAnyOf }: Dialect) {
    this.#find = `SELECT id, response_id, tokens, upstream, model FROM inf_gw.kept_responses
      WHERE key_id = $1 AND at_ms > $2 AND ${isAnyOf('id', '$3')}`;
  }

  /** Returns the ids that belong to a key. */
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

  /** Adds a response and its items, and drops some expired ones. */
  add(response: KeptResponse): Operation<void> {
    this.#added += idsOf(response).length;
    const isBounded = this.#added >= ADDED_BETWEEN_LOOKS;
    if (isBounded) this.#added = 0;
    return this.write(response, isBounded);
  }

  /** Drops a response and its items. */
  abstract drop(keyId: string, responseId: string): Operation<void>;

  /** With `isBounded`, also drops some of a key's oldest ids if it has too many. */
  protected abstract write(response: KeptResponse, isBounded: boolean): Operation<void>;
}

export type KeptResponses = PartLater<Pick<KeptBook, 'find' | 'add' | 'drop'>>;

/** The ids of a response and its items, with the tokens of each. */
export function idsOf({
  id,
  tokens,
  items,
}: KeptResponse): readonly { readonly id: string; readonly tokens: number }[] {
  return [{ id, tokens }, ...items.filter((item) => item.id !== id)];
}
