/**
 * Editing the body for the upstream: what must change does, and everything else keeps its bytes.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { editBody } from '../../../../src/dialects/chat/chat.ts';
import type { UpstreamFields } from '../../../../src/dialects/dialect.ts';
import { membersOf } from '../../../../src/wire/members.ts';
import { foldCase } from '../../../../src/wire/names.ts';
import { runs } from '../../../support/at-length.ts';
import { randomObject } from '../../wire/random-json.ts';
import { chatRequest } from './chat.ts';

const MESSAGES = '"messages":[{"role":"user","content":"hi"}]';
const RENAME: UpstreamFields = { model: 'gpt "x"', askForUsage: false, cap: undefined };
const TOUCHED = new Set(['model', 'messages', 'stream', 'stream_options', 'max_tokens']);
const CHECKED = new Set([
  ...TOUCHED,
  'max_completion_tokens',
  'n',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'stop',
  'tools',
]);

/** The name of each member with the bytes of its value. */
function valuesOf(text: string): [string, string][] {
  return membersOf(text, 0).map(({ key, valueStart, valueEnd }) => [key, text.slice(valueStart, valueEnd)]);
}

test('everything but the edited fields reaches the upstream byte for byte, in order', () => {
  const cases = fc.tuple(
    randomObject,
    fc.constantFrom('"model":"a/b"', '"mod\\u0065l" : "a/b"', ' "model"\n:\t"a\\/b"'),
    fc.constantFrom(
      '',
      '"stream":true',
      '"stream":true,"stream_options":{"x":1.50}',
      '"stream":true,"stream_options":null',
    ),
    fc.boolean(),
    fc.boolean(),
    fc.nat(),
  );
  fc.assert(
    fc.property(cases, ([{ members }, model, stream, askForUsage, capped, place]) => {
      const seen = new Set<string>();
      const others = members
        .filter(({ key }) => {
          const name = JSON.parse(key) as string;
          const isNew = !seen.has(name) && !CHECKED.has(foldCase(name));
          seen.add(name);
          return isNew;
        })
        .map(({ key, value }) => `${key}: ${value}`);
      others.splice(place % (others.length + 1), 0, ...[model, MESSAGES, stream].filter((part) => part !== ''));
      const text = `{ ${others.join(' ,\n')} }`;
      const request = chatRequest(text);
      const cap = capped ? { field: 'max_tokens', tokens: 77 } : undefined;
      const edited = editBody(request, { model: 'up/stream', askForUsage: askForUsage && request.stream, cap });

      const parsed = JSON.parse(edited) as Record<string, unknown>;
      assert.equal(parsed.model, 'up/stream');
      assert.equal(parsed.max_tokens, capped ? 77 : undefined);
      if (askForUsage && request.stream) {
        assert.equal((parsed.stream_options as Record<string, unknown>).include_usage, true);
      }
      const untouched = ([key]: [string, string]) => !['model', 'max_tokens', 'stream_options'].includes(key);
      assert.deepEqual(valuesOf(edited).filter(untouched), valuesOf(text).filter(untouched));
      assert.equal(new Set(valuesOf(edited).map(([key]) => key)).size, valuesOf(edited).length);
    }),
    { numRuns: runs(500) },
  );
});

describe('a body', () => {
  test('keeps its white space, numbers and escapes when the model is renamed', () => {
    const text = `{\n\t"seed": 12345678901234567890, "model" : "a/b",${MESSAGES}, "x": {"y":1,"y":2}, "t": "\\u0041" }\n`;
    const expected = text.replace('"a/b"', String.raw`"gpt \"x\""`);
    assert.equal(editBody(chatRequest(text), RENAME), expected);
  });

  const asked: UpstreamFields = { ...RENAME, model: 'a/b', askForUsage: true };
  const OPTIONS: readonly (readonly [before: string, behind: string])[] = [
    ['', '{"include_usage":true}'],
    ['null', '{"include_usage":true}'],
    ['{}', '{"include_usage":true}'],
    ['{ }', '{"include_usage":true}'],
    ['{"include_usage": false}', '{"include_usage": true}'],
    ['{"include_usage": null, "x": 1.0}', '{"include_usage": true, "x": 1.0}'],
    ['{ "x": 1.0 }', '{ "include_usage":true,"x": 1.0 }'],
    ['{"include_usage":true, "x": [1 ]}', '{"include_usage":true, "x": [1 ]}'],
    ['{"a":{"include_usage":false}}', '{"include_usage":true,"a":{"include_usage":false}}'],
    ['{"include_usage":true,"include_usage":false}', '{"include_usage":true,"include_usage":true}'],
  ];
  for (const [before, behind] of OPTIONS) {
    test(`requests usage with stream_options ${before || 'absent'}`, () => {
      const field = before === '' ? '' : `"stream_options":${before},`;
      const text = `{${field}"stream":true,"model":"a/b",${MESSAGES}}`;
      const edited = valuesOf(editBody(chatRequest(text), asked));
      assert.equal(new Map(edited).get('stream_options'), behind);
    });
  }

  test('gets a maximum of output in the field that the host supports', () => {
    const capped = { ...RENAME, model: 'a/b', cap: { field: 'max_completion_tokens', tokens: 512 } };
    const without = `{"model":"a/b",${MESSAGES}}`;
    assert.equal(editBody(chatRequest(without), capped), `{"max_completion_tokens":512,"model":"a/b",${MESSAGES}}`);
    const withNull = `{"model":"a/b","max_completion_tokens":null,${MESSAGES}}`;
    assert.equal(editBody(chatRequest(withNull), capped), withNull.replace('null', '512'));
  });

  const OTHERS: readonly (readonly [name: string, text: string, sent: string])[] = [
    [
      'first',
      `{ "max_tokens" : 9 , "model":"a/b", ${MESSAGES} }`,
      `{ "max_completion_tokens":512,"model":"x", ${MESSAGES} }`,
    ],
    [
      'in between',
      `{"model":"a/b","max_tokens":9,${MESSAGES}}`,
      `{"max_completion_tokens":512,"model":"x",${MESSAGES}}`,
    ],
    ['last', `{${MESSAGES},"model":"a/b" , "max_tokens":9 }`, `{"max_completion_tokens":512,${MESSAGES},"model":"x" }`],
    [
      'beside a null',
      `{"max_completion_tokens":null,"model":"a/b",${MESSAGES},"max_tokens":9}`,
      `{"max_completion_tokens":512,"model":"x",${MESSAGES}}`,
    ],
  ];
  for (const [where, text, sent] of OTHERS) {
    test(`loses a maximum that its host does not read, ${where}, and keeps all other bytes`, () => {
      const cap = { field: 'max_completion_tokens', tokens: 512 };
      assert.equal(editBody(chatRequest(text), { ...RENAME, model: 'x', cap }), sent);
    });
  }

  test('may have its model anywhere, and a nested field of the same name', () => {
    const text = `{"metadata":{"model":"mine"},${MESSAGES},"model":"a/b"}`;
    assert.equal(editBody(chatRequest(text), { ...RENAME, model: 'x' }), text.replace('"a/b"', '"x"'));
  });
});
