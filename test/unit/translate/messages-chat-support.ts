/** Messages requests for hosts of chat, and streamed messages read back as a strict client does. */
import assert from 'node:assert/strict';
import type { Fields } from '../../../src/dialects/dialect.ts';
import type { ResponseTranslation } from '../../../src/translate/translation.ts';
import { eventsIn, translated as translatedFor, translateUnchecked } from './hosted.ts';

export const HELLO: Fields = { role: 'user', content: 'Hello' };

/** The smallest request. */
const PLAIN: Fields = { model: 'host/model', max_tokens: 100, messages: [HELLO] };

/** Of fields that need not be valid. */
export const translate = (fields: Fields) => translateUnchecked('messages', 'chat', { ...PLAIN, ...fields });
/** What a request becomes, with these fields beside the smallest ones. */
export const translated = (fields: Fields, maxOutput?: number) =>
  translatedFor('messages', 'chat', { ...PLAIN, ...fields }, { maxOutput });

/** How answers are translated; thinking is shown unless the fields say otherwise. */
export function responseTo(fields: Fields = { thinking: { type: 'adaptive' } }): ResponseTranslation {
  return translated(fields).response;
}

/** Text of a delta, by its type: where it goes, and its field. */
const DELTA_FIELDS: Readonly<Record<string, readonly [block: string, field: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['thinking', 'signature'],
  input_json_delta: ['tool_use', 'partial_json'],
};

interface OpenBlock {
  readonly start: Fields;
  readonly texts: Map<string, string>;
}

/** The message that a complete stream makes. Fails where an event is not in its place. */
export function messageIn(text: string): Fields {
  const [start, ...rest] = eventsIn(text);
  assert.equal(start?.type, 'message_start');
  assert.equal(rest.pop()?.type, 'message_stop');
  const end = rest.pop();
  assert.equal(end?.type, 'message_delta');
  const content: Fields[] = [];
  let open: OpenBlock | undefined;
  for (const event of rest) {
    assert.equal(event.index, content.length);
    if (event.type === 'content_block_start') {
      assert.equal(open, undefined);
      open = { start: event.content_block as Fields, texts: new Map() };
    } else {
      assert.ok(open);
      if (event.type === 'content_block_delta') addDelta(open, event.delta as Fields);
      else {
        assert.equal(event.type, 'content_block_stop');
        content.push(closed(open));
        open = undefined;
      }
    }
  }
  assert.equal(open, undefined);
  return { ...(start.message as Fields), content, ...(end.delta as Fields), usage: end.usage };
}

function addDelta({ start, texts }: OpenBlock, delta: Fields): void {
  const [block, field] = DELTA_FIELDS[String(delta.type)] ?? assert.fail(`unknown delta ${delta.type}`);
  assert.equal(start.type, block);
  texts.set(
    field,
    (texts.get(field) ?? '') + String(delta[delta.type === 'input_json_delta' ? 'partial_json' : field]),
  );
}

function closed({ start, texts }: OpenBlock): Fields {
  const { partial_json: json = '', ...others } = Object.fromEntries(texts);
  return start.type === 'tool_use' ? { ...start, input: json === '' ? {} : JSON.parse(json) } : { ...start, ...others };
}
