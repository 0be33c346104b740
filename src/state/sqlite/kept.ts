/** Responses that hosts keep, in a state file. */
import { KEPT_MS, type KeptResponse, MAX_DROPPED_IDS, MAX_KEPT_IDS } from '../../core/kept-responses.ts';
import { idsOf, KeptBook } from '../kept-book.ts';
import { type Operation, rows, transaction } from '../operation.ts';
import { DIALECT } from './book.ts';

/** `$3`: ids and tokens, as an array of JSON objects. A repeated id has what is said last. */
const ADD = `INSERT INTO kept_responses (key_id, id, response_id, tokens, upstream, model, at_ms)
  SELECT $1, value ->> 'id', $2, value ->> 'tokens', $4, $5, $6 FROM json_each($3) WHERE true
  ON CONFLICT DO UPDATE SET response_id = excluded.response_id, tokens = excluded.tokens, upstream = excluded.upstream,
    model = excluded.model, at_ms = excluded.at_ms`;
const DROP_OLD = `DELETE FROM kept_responses WHERE (key_id, id) IN (SELECT key_id, id FROM kept_responses
  WHERE at_ms <= $1 ORDER BY at_ms LIMIT ${MAX_DROPPED_IDS})`;
const DROP_EXCESS = `DELETE FROM kept_responses WHERE key_id = $1 AND id IN (SELECT id FROM kept_responses
  WHERE key_id = $1 ORDER BY at_ms LIMIT (SELECT max(0, min(count(*) - ${MAX_KEPT_IDS}, ${MAX_DROPPED_IDS}))
    FROM kept_responses WHERE key_id = $1))`;
const DROP = 'DELETE FROM kept_responses WHERE key_id = $1 AND response_id = $2';

export class FileKept extends KeptBook {
  constructor() {
    super(DIALECT);
  }

  drop(keyId: string, responseId: string): Operation<void> {
    return transaction(nothing(rows(DROP, [keyId, responseId])));
  }

  protected write(response: KeptResponse, isBounded: boolean): Operation<void> {
    return transaction(written(response, isBounded));
  }
}

function* written(response: KeptResponse, isBounded: boolean): Operation<void> {
  const { keyId, id: responseId, upstream, model, atMs } = response;
  yield* rows(DROP_OLD, [atMs - KEPT_MS]);
  yield* rows(ADD, [keyId, responseId, JSON.stringify(idsOf(response)), upstream, model, atMs]);
  if (isBounded) yield* rows(DROP_EXCESS, [keyId]);
}

function* nothing(work: Operation<unknown>): Operation<void> {
  yield* work;
}
