/** Answers `/v1/keys`: keys that a key makes under it, if its operator lets it. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import type { BodyLimiter } from '../http/body-limiter.ts';
import type { Exchange } from '../http/exchange.ts';
import { noSuchPath } from '../http/unknown-path.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { readJsonBody } from '../wire/body.ts';
import { admitListing, type Refused, refused } from './listing.ts';
import { readBody } from './read-body.ts';

/** What becomes of a request of a key about those under it. `json` is what the client reads. */
export type ChildAnswer =
  | { readonly kind: 'done'; readonly json: object }
  | { readonly kind: 'invalid'; readonly problem: string }
  | { readonly kind: 'no_such_key' }
  /** Its key makes none. */
  | { readonly kind: 'may_not' };

/** The keys that keys have made. */
export interface ChildKeys {
  create(parentId: string, asked: Readonly<Record<string, unknown>>): Promise<ChildAnswer>;
  list(parentId: string): Promise<ChildAnswer>;
  delete(parentId: string, id: string): Promise<ChildAnswer>;
}

interface ChildKeyParts {
  readonly children: ChildKeys;
  readonly ledger: Ledger;
  readonly bodies: BodyLimiter;
  readonly catalog: Catalog;
}

/** Sends the answer, or returns why it is refused. Throws a BodyError. `id`: of the key that is asked for. */
export async function serveChildKeys(
  parts: ChildKeyParts,
  exchange: Exchange,
  id: string | undefined,
): Promise<Refused | undefined> {
  const access = await admitListing(parts.ledger, exchange);
  if (!access.ok) return access.refused;
  const parentId = exchange.keyId as string;
  const { children } = parts;
  if (id !== undefined) return answer(exchange, await children.delete(parentId, id), 200, id);
  if (exchange.request.method !== 'POST') return answer(exchange, await children.list(parentId), 200);
  const read = readJsonBody(
    await readBody(exchange, { ...access.reading, keyId: parentId }, parts.bodies, parts.catalog),
  );
  if (!read.ok) return refused(invalid(read.problem));
  return answer(exchange, await children.create(parentId, read.body.fields), 201);
}

function answer(exchange: Exchange, given: ChildAnswer, status: number, id = ''): Refused | undefined {
  switch (given.kind) {
    case 'done':
      exchange.sendJson(status, JSON.stringify(given.json));
      return undefined;
    case 'invalid':
      return refused(invalid(given.problem));
    case 'no_such_key':
      return refused({ code: 'invalid_request', status: 404, message: `Key '${printableName(id)}' not found.` });
    case 'may_not':
      return refused(noSuchPath(exchange.path));
  }
}

function invalid(message: string): ClientError {
  return { code: 'invalid_request', message };
}
