/** Answers `/v1/keys`: creates, lists and deletes the child keys of a key, if the operator allows it. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import type { BodyLimiter } from '../http/body-limiter.ts';
import type { Exchange } from '../http/exchange.ts';
import { noSuchPath } from '../http/unknown-path.ts';
import type { EnabledKey, Ledger } from '../ledger/ledger.ts';
import { readJsonBody } from '../wire/body.ts';
import { admitListing, identifyLister, type Refused, refused } from './listing.ts';
import { readBody } from './read-body.ts';

/** The result of an operation on child keys. `json` is the body of the response. */
export type ChildAnswer =
  | { readonly kind: 'done'; readonly json: object }
  | { readonly kind: 'invalid'; readonly problem: string }
  | { readonly kind: 'no_such_key' }
  /** The key may not create child keys. */
  | { readonly kind: 'may_not' };

export type ChildRefusal = Exclude<ChildAnswer, { kind: 'done' }>;

/** An operation of a key on its child keys. */
export type ChildQuestion =
  | { readonly kind: 'create'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'list' }
  | { readonly kind: 'delete'; readonly id: string };

/** The store of child keys. */
export interface ChildKeys {
  /** Returns the refusal that `answer` would return now. Changes no state. */
  check(parentId: string, question: ChildQuestion): Promise<ChildRefusal | undefined>;
  answer(parentId: string, question: ChildQuestion): Promise<ChildAnswer>;
}

interface ChildKeyParts {
  readonly children: ChildKeys;
  readonly ledger: Ledger;
  readonly bodies: BodyLimiter;
  readonly catalog: Catalog;
}

/**
 * Sends the answer, or returns the refusal. Checks the operation before it uses up an entry of the key's window. Throws a
 * BodyError. `id`: the child key to delete.
 */
export async function serveChildKeys(
  parts: ChildKeyParts,
  exchange: Exchange,
  id: string | undefined,
): Promise<Refused | undefined> {
  const { children, ledger } = parts;
  const lister = await identifyLister(ledger, exchange);
  if (!lister.ok) return lister.refused;
  const { keyId } = lister.key;
  const asked = await readQuestion(parts, exchange, lister.key, id);
  if (!asked.ok) return refused(invalid(asked.problem));
  const fault = await children.check(keyId, asked.question);
  if (fault !== undefined) return refused(errorFor(fault, exchange, id));
  const access = await admitListing(ledger, exchange);
  if (!access.ok) return access.refused;
  const answer = await children.answer(keyId, asked.question);
  if (answer.kind !== 'done') return refused(errorFor(answer, exchange, id));
  exchange.sendJson(asked.question.kind === 'create' ? 201 : 200, JSON.stringify(answer.json));
  return undefined;
}

type Asked = { readonly ok: true; readonly question: ChildQuestion } | { readonly ok: false; readonly problem: string };

async function readQuestion(
  { bodies, catalog }: ChildKeyParts,
  exchange: Exchange,
  key: EnabledKey,
  id: string | undefined,
): Promise<Asked> {
  if (id !== undefined) return { ok: true, question: { kind: 'delete', id } };
  if (exchange.request.method !== 'POST') return { ok: true, question: { kind: 'list' } };
  const read = readJsonBody(await readBody(exchange, { ...key, refusal: undefined }, bodies, catalog));
  return read.ok ? { ok: true, question: { kind: 'create', fields: read.body.fields } } : read;
}

function errorFor(given: ChildRefusal, exchange: Exchange, id = ''): ClientError {
  switch (given.kind) {
    case 'invalid':
      return invalid(given.problem);
    case 'no_such_key':
      return { code: 'invalid_request', status: 404, message: `Key '${printableName(id)}' not found.` };
    case 'may_not':
      return noSuchPath(exchange.path);
  }
}

function invalid(message: string): ClientError {
  return { code: 'invalid_request', message };
}
