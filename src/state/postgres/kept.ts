/** Responses that hosts keep, in a database. What writes is a function there, since a gateway's role may call no more. */
import type { KeptResponse } from '../../core/kept-responses.ts';
import { idsOf, KeptBook } from '../kept-book.ts';
import { type Operation, rows } from '../operation.ts';
import { DIALECT } from './dialect.ts';

export class DatabaseKept extends KeptBook {
  constructor() {
    super(DIALECT);
  }

  *drop(keyId: string, responseId: string): Operation<void> {
    yield* rows('SELECT inf_gw.drop_kept_response($1, $2)', [keyId, responseId]);
  }

  protected *write(response: KeptResponse, isBounded: boolean): Operation<void> {
    const { keyId, id, upstream, model, atMs } = response;
    const ids = idsOf(response);
    yield* rows('SELECT inf_gw.keep_response($1, $2, $3, $4, $5, $6, $7, $8)', [
      keyId,
      id,
      ids.map((each) => each.id),
      ids.map((each) => String(each.tokens)),
      upstream,
      model,
      atMs,
      isBounded ? 1 : 0,
    ]);
  }
}
