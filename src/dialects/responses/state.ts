/** State at a host of responses: what a request has it keep, and what it refers to. */
import { isObject } from '../../core/json.ts';
import { foldCase } from '../../wire/names.ts';
import { type KeptAnswer, quotableId } from '../answer.ts';
import type { Fields, HostState, Reference } from '../dialect.ts';

/** The fields of a request, which are valid. */
export function stateOf(fields: Fields): HostState {
  const { previous_response_id: previous, store, input } = fields;
  const named = typeof previous === 'string' ? [reference('response', previous, 'previous_response_id')] : [];
  const items = Array.isArray(input) ? input.filter(isObject) : [];
  const references = [...named, ...items.flatMap((item, index) => referenceIn(item, `input[${index}]`) ?? [])];
  const isKept = store !== false;
  return { isKept, references, problem: problemOf(references, store === true, items) };
}

/** An item that stands for another. Without a type one that has only an id does, too. */
export function isReference({ type, role }: Fields): boolean {
  return (typeof type === 'string' && foldCase(type) === 'item_reference') || !(type || role);
}

/** Of these everything is in the request. */
const WHOLE: ReadonlySet<unknown> = new Set([
  ...['message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
  'additional_tools',
]);

/** What an item has its host look up: any other that a host made may be no more than its id. */
function referenceIn(item: Fields, where: string): Reference | undefined {
  const { id, type, encrypted_content: sealed } = item;
  if (typeof id !== 'string') return undefined;
  const isWhole = !isReference(item) && (WHOLE.has(type || 'message') || (typeof sealed === 'string' && sealed !== ''));
  return isWhole ? undefined : reference('item', id, `${where}.id`);
}

function reference(kind: Reference['kind'], id: string, field: string): Reference {
  return { kind, id, field };
}

const SHARED =
  'the provider would keep it for all keys of this gateway; send the whole conversation in input instead' +
  ' (AI SDK: providerOptions: { openai: { store: false } }; others: store: false), or have the operator set' +
  ' responses_state: per_key';

/** What only a host that keeps responses for a key can take. */
function problemOf(references: readonly Reference[], isStored: boolean, items: readonly Fields[]): string | undefined {
  if (isStored) return `store: expected false: ${SHARED}`;
  if (references[0]?.kind === 'response') return `previous_response_id: ${SHARED}`;
  const index = items.findIndex(isReference);
  return index < 0
    ? undefined
    : `input[${index}]: an item_reference is refused (clients send none with store: false), since ${SHARED}`;
}

/** Items that a model writes as text: their tokens are among its output. Others may have brought more in. */
const WRITTEN: ReadonlySet<unknown> = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

/** What a host keeps of a response, by its ids; undefined if it says that it keeps nothing. */
export function keptIn({ id, store, output }: Fields): KeptAnswer | undefined {
  const responseId = quotableId(id);
  if (responseId === undefined || store === false || !Array.isArray(output)) return undefined;
  const items = output.filter(isObject).flatMap(({ id, type }) => {
    const itemId = quotableId(id);
    return itemId === undefined ? [] : [{ id: itemId, isWritten: WRITTEN.has(type) }];
  });
  return { id: responseId, items };
}
