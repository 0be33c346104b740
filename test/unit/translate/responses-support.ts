/** Responses requests for hosts of other dialects, and streams read back as a strict client does. */
import assert from 'node:assert/strict';
import type { Fields } from '../../../src/dialects/dialect.ts';
import type { HostTerms, ResponseTranslation } from '../../../src/translate/translation.ts';
import { eventsIn, hosted, translated as translatedFor } from './hosted.ts';

export const CONTEXT = { requestId: 'req_1', nowS: 1_700_000_000 };
const TERMS: HostTerms = { maxOutput: 64_000, defaultOutput: 512, ignoreTools: [] };

/** The dialects of hosts that clients of responses can use. */
export type Host = 'chat' | 'messages';
export const HOSTS: readonly Host[] = ['chat', 'messages'];

/** As for a model whose `cache_points` are on. */
export const WITH_CACHE_POINTS: HostTerms = { ...TERMS, setsCachePoints: true };

export const translate = (host: Host, body: Fields) => hosted('responses', host, body, TERMS);
export const translated = (host: Host, body: Fields, terms = TERMS) => translatedFor('responses', host, body, terms);

export function responseTo(host: Host, body: Fields = {}): ResponseTranslation {
  return translated(host, body).response;
}

/** The text that a client receives of these events of a host, whole. */
export function streamed(host: Host, events: readonly Fields[], body: Fields = {}): string {
  const translator = responseTo(host, body).stream(CONTEXT);
  return events.map((event) => translator.push(event)).join('') + translator.completion();
}

// What clients send.

export const message = (role: string, ...content: readonly Fields[]) => ({ type: 'message', role, content });
export const text = (value: string, more: Fields = {}) => ({ type: 'input_text', text: value, ...more });
export const said = (value: string) => ({ type: 'output_text', text: value, annotations: [] });
export const image = (url: string, more: Fields = {}) => ({ type: 'input_image', image_url: url, ...more });
export const call = (id: string, name: string, json: string, more: Fields = {}) => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: json,
  ...more,
});
export const output = (id: string, value: string | readonly Fields[]) => ({
  type: 'function_call_output',
  call_id: id,
  output: value,
});
export const tool = (name: string, more: Fields = {}) => ({ type: 'function', name, ...more });
export const namespace = (name: string, ...tools: readonly Fields[]) => ({ type: 'namespace', name, tools });

/** Tools of every kind that can be offered. */
export const TOOLS = [tool('look'), { type: 'custom', name: 'patch' }, namespace('agents', tool('spawn'))];

// What clients receive.

/** An item that is put together from events. */
type Built = Record<string, unknown> & { isOpen: boolean; hasOpenPart: boolean };

/** By the type of an event: the list and the field that its delta is added to. */
const DELTAS: Readonly<Record<string, readonly [list: string | undefined, field: string]>> = {
  'response.output_text.delta': ['content', 'text'],
  'response.refusal.delta': ['content', 'refusal'],
  'response.reasoning_summary_text.delta': ['summary', 'text'],
  'response.function_call_arguments.delta': [undefined, 'arguments'],
  'response.custom_tool_call_input.delta': [undefined, 'input'],
};

/**
 * The last response of a whole stream. Fails where an event is not in its place, or where items do
 * not hold what their deltas add up to.
 */
export function responseIn(stream: string): Fields {
  const events = eventsIn(stream);
  for (const [index, event] of events.entries()) assert.equal(event.sequence_number, index);
  assert.deepEqual(
    events.slice(0, 2).map(({ type }) => type),
    ['response.created', 'response.in_progress'],
  );
  const items: Built[] = [];
  for (const event of events.slice(2, -1)) apply(event, items);
  const { type, response } = events.at(-1) as { type: string; response: Fields };
  assert.equal(type, `response.${response.status}`);
  const output = response.output as readonly Fields[];
  assert.equal(output.length, items.length);
  for (const [index, { isOpen, hasOpenPart: _, ...item }] of items.entries()) {
    assert.deepEqual(withoutStatus(item), withoutStatus(output[index] as Fields));
    if (isOpen) assert.notEqual(response.status, 'completed');
  }
  return response;
}

function withoutStatus({ status: _, ...item }: Fields): Fields {
  return item;
}

function apply(event: Fields, items: Built[]): void {
  const { type, output_index: at } = event;
  if (type === 'response.output_item.added') {
    assert.equal(at, items.length);
    items.push({ ...(event.item as Fields), isOpen: true, hasOpenPart: false });
    return;
  }
  const item = items[at as number];
  assert.ok(item?.isOpen, `${type} outside of an item`);
  if (type === 'response.output_item.done') {
    assert.ok(!item.hasOpenPart, 'a part is not done');
    const { isOpen: _, hasOpenPart: __, ...written } = item;
    assert.deepEqual(withoutStatus(written), withoutSeal(withoutStatus(event.item as Fields)));
    Object.assign(item, event.item, { isOpen: false });
    return;
  }
  assert.equal(event.item_id, item.id);
  const index = (event.content_index ?? event.summary_index) as number;
  const list = (event.summary_index === undefined ? item.content : item.summary) as Record<string, unknown>[];
  if (String(type).endsWith('_part.added')) {
    assert.equal(index, list.length);
    assert.ok(!item.hasOpenPart, 'the part before it is not done');
    item.hasOpenPart = true;
    list.push({ ...(event.part as Fields) });
  } else if (type === 'response.output_text.annotation.added') {
    ((list[index] as Fields).annotations as unknown[]).push(event.annotation);
  } else if (String(type).endsWith('.delta')) {
    const [, field] = DELTAS[String(type)] ?? assert.fail(`unknown event ${type}`);
    const target = (list === undefined ? item : list[index]) as Record<string, unknown>;
    target[field] = String(target[field]) + String(event.delta);
    if (Array.isArray(event.logprobs)) (target.logprobs as unknown[]).push(...event.logprobs);
  } else {
    assert.ok(String(type).endsWith('.done'), `unknown event ${type}`);
    const whole = event.part ?? event.text ?? event.refusal ?? event.arguments ?? event.input;
    const target = list === undefined ? item : (list[index] as Fields);
    if (event.part !== undefined) {
      assert.deepEqual(target, whole);
      item.hasOpenPart = false;
    }
    assert.ok(
      event.part !== undefined || [target.text, target.refusal, target.arguments, target.input].includes(whole),
      `${type} differs`,
    );
  }
}

/** The encrypted content comes with the end of an item. */
function withoutSeal({ encrypted_content: _, ...item }: Fields): Fields {
  return item;
}
