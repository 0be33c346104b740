/** State at a host of the responses dialect: stored answers and references to them. */
import { isObject, objectsIn } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import { findDuplicate, type JsonBody } from '../../wire/body.ts';
import { membersOfEach } from '../../wire/members.ts';
import { foldCase } from '../../wire/names.ts';
import { type KeptAnswer, quotableId } from '../answer.ts';
import type { Fields, HostState, Reference } from '../dialect.ts';

/** `body`: of a valid request. */
export function stateOf(body: JsonBody): HostState {
  const { fields } = body;
  const { previous_response_id: previous, store, input } = fields;
  const named = typeof previous === 'string' ? [reference('response', previous, 'previous_response_id')] : [];
  const items = objectsIn(input);
  const references = [...named, ...items.flatMap((item, index) => referenceIn(item, `input[${index}]`) ?? [])];
  const isKept = store !== false;
  const problem = problemOf(references, store === true, items);
  const keptProblem = () => repeatedNameIn(body);
  const foreignProblem = () => namedBy(references[0]) ?? keptProblem();
  return { isKept, references, problem, keptProblem, foreignProblem };
}

function namedBy(reference: Reference | undefined): string | undefined {
  return reference && `${reference.field}: the host may keep this for another key; send the item as a whole`;
}

/**
 * Returns the problem with a field that an item repeats: the host may read the other value, which may be the id of another
 * key.
 */
function repeatedNameIn({ text, members }: JsonBody): string | undefined {
  const start = members.find(({ key }) => key === 'input')?.valueStart;
  if (start === undefined || text[start] !== '[') return undefined;
  let index = 0;
  for (const item of membersOfEach(text, start)) {
    const repeated = findDuplicate(item);
    if (repeated !== undefined) return `input[${index}].${printableName(repeated)}: the item has this field twice`;
    index++;
  }
  return undefined;
}

/** Whether an item references another one. An item with only an id and no type does, too. */
export function isReference({ type, role }: Fields): boolean {
  return (typeof type === 'string' && foldCase(type) === 'item_reference') || !(type || role);
}

/** The field with the content of a complete item, by item type. */
const CONTENTS: ReadonlyMap<unknown, string> = new Map([
  ['message', 'content'],
  ['function_call', 'arguments'],
  ['function_call_output', 'output'],
  ['custom_tool_call', 'input'],
  ['custom_tool_call_output', 'output'],
  ['additional_tools', 'tools'],
]);
/** Items whose content the host encrypts. */
const SEALED: ReadonlySet<unknown> = new Set(['reasoning', 'compaction']);

/** Returns the stored item that an input item references. Any incomplete item of a host may be only an id. */
function referenceIn(item: Fields, where: string): Reference | undefined {
  const { id } = item;
  if (typeof id !== 'string' || (!isReference(item) && isWhole(item))) return undefined;
  return reference('item', id, `${where}.id`);
}

function isWhole(item: Fields): boolean {
  const { type, encrypted_content: sealed } = item;
  if (SEALED.has(type)) return typeof sealed === 'string' && sealed !== '';
  const field = CONTENTS.get(type || 'message');
  return field !== undefined && (item[field] ?? undefined) !== undefined;
}

function reference(kind: Reference['kind'], id: string, field: string): Reference {
  return { kind, id, field };
}

const SHARED =
  'the provider would keep it for all keys of this gateway; send the whole conversation in input instead' +
  ' (AI SDK: providerOptions: { openai: { store: false } }; others: store: false), or have the operator set' +
  ' responses_state: per_key';

/** Returns why only a host that stores responses for a key can serve the request. */
function problemOf(references: readonly Reference[], isStored: boolean, items: readonly Fields[]): string | undefined {
  if (isStored) return `store: expected false: ${SHARED}`;
  if (references[0]?.kind === 'response') return `previous_response_id: ${SHARED}`;
  const index = items.findIndex(isReference);
  return index < 0
    ? undefined
    : `input[${index}]: an item_reference is refused (clients send none with store: false), since ${SHARED}`;
}

/** Items that a model writes as text, so that its output tokens cover them. Other items may contain more. */
const WRITTEN: ReadonlySet<unknown> = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

/** Returns the stored ids of a response; undefined if the host reports that it stores no response. */
export function keptIn({ id, store, output }: Fields): KeptAnswer | undefined {
  const responseId = quotableId(id);
  if (responseId === undefined || store === false || !Array.isArray(output)) return undefined;
  const made = output.filter(isObject);
  const items = made.flatMap(({ id, type }) => {
    const itemId = quotableId(id);
    return itemId === undefined ? [] : [{ id: itemId, isWritten: WRITTEN.has(type) }];
  });
  const images = made.filter(({ type }) => type === 'image_generation_call').length;
  return { id: responseId, items, images };
}
