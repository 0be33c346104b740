/** Forms with files: what is read of them, what is refused, and that a host gets what was read. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Form, FormFile } from '../../../src/wire/body.ts';
import { formContentType, formWith, readForm } from '../../../src/wire/multipart.ts';

const TYPE = 'multipart/form-data; boundary=b';
const part = (head: string, content: string) => `--b\r\n${head}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string) => part(`Content-Disposition: form-data; name="${name}"`, content);
const file = (name: string, content: string) =>
  part(`Content-Disposition: form-data; name="${name}"; filename="a"\r\nContent-Type: audio/wav`, content);
const END = '--b--\r\n';

function read(text: string, type: string | undefined = TYPE) {
  return readForm(Buffer.from(text, 'latin1'), type);
}

function fieldsOf(text: string, type?: string): Record<string, unknown> {
  const result = read(text, type);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return { ...result.body.fields };
}

describe('a form', () => {
  test('has its fields as texts, its files as bytes, and lists by the names that say so', () => {
    const { file: sound, ...others } = fieldsOf(
      field('model', 'm') +
        file('file', 'a\r\n--c\0') +
        field('l[]', '1') +
        field('l[]', '') +
        field('empty', '') +
        END,
    );
    assert.deepEqual(others, { model: 'm', 'l[]': ['1', ''], empty: '' });
    assert.equal((sound as FormFile).bytes.toString('latin1'), 'a\r\n--c\0');
  });

  for (const [what, type] of [
    ['in quotes', 'multipart/form-data; boundary="b"'],
    ['in capitals, after another parameter', 'Multipart/Form-Data; charset=utf-8; Boundary=b'],
    ['that nobody says', undefined],
  ] as const) {
    test(`may have a boundary ${what}`, () =>
      assert.deepEqual(fieldsOf(field('model', 'm') + END, type), { model: 'm' }));
  }

  test('may say the coding of a text that is as ASCII', () => {
    const head = 'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=ISO-8859-1';
    assert.deepEqual(fieldsOf(part(head, 'x') + END), { a: 'x' });
  });

  for (const [what, text, type] of [
    ['JSON', '{"model":"m"}', 'application/json'],
    ['no boundary', field('model', 'm') + END, 'multipart/form-data'],
    ['another boundary', field('model', 'm') + END, 'multipart/form-data; boundary=c'],
    ['something ahead', `x\r\n${field('model', 'm')}${END}`, TYPE],
    ['something behind', `${field('model', 'm')}${END}--b\r\n`, TYPE],
    ['no end', field('model', 'm'), TYPE],
    ['a boundary that goes on', `${field('model', 'm')}--bb\r\n\r\nx\r\n${END}`, TYPE],
    ['a line end alone', field('model', 'm').replaceAll('\r\n', '\n') + END, TYPE],
    ['a field twice', field('model', 'm') + field('model', 'n') + END, TYPE],
    ['a name without quotes', `${part('Content-Disposition: form-data; name=model', 'm')}${END}`, TYPE],
    [
      'a name in another coding',
      `${part('Content-Disposition: form-data; name="a"; name*=utf-8\'\'model', 'm')}${END}`,
      TYPE,
    ],
    ['an escaped name', `${field('mod\\"el', 'm')}${END}`, TYPE],
    [
      'two dispositions',
      `${part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="model"', 'm')}${END}`,
      TYPE,
    ],
    [
      'another coding',
      `${part('Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64', 'bQ==')}${END}`,
      TYPE,
    ],
    ['another header', `${part('Content-Disposition: form-data; name="a"\r\nX-Other: 1', 'm')}${END}`, TYPE],
    ['a part that is none of a form', `${part('Content-Type: text/plain', 'm')}${END}`, TYPE],
    ['a text that is not UTF-8', `${field('a', '\xff')}${END}`, TYPE],
    ['a long text', `${field('a', 'x'.repeat(1024 * 1024 + 1))}${END}`, TYPE],
    ['its boundary after another line end', file('file', 'a\n--b\r\nx') + END, TYPE],
    ['its boundary within a line', field('a', 'x--b\r\n') + END, TYPE],
    [
      'a form in a part',
      `${part('Content-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: multipart/mixed; boundary=c', '')}${END}`,
      TYPE,
    ],
    [
      'a text in UTF-16',
      `${part('Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=utf-16', '')}${END}`,
      TYPE,
    ],
    ['a field that says the coding of the others', field('_charset_', 'utf-16') + END, TYPE],
    ['a name with a space', field(' model', 'm') + END, TYPE],
    ['many parts', field('l[]', '').repeat(201) + END, TYPE],
  ] as const) {
    test(`is refused with ${what}`, () => assert.equal(read(text, type).ok, false));
  }

  test('is written with other values, and otherwise byte by byte', () => {
    const text = file('file', '\0\xff') + field('model', 'm') + field('n', '1') + END;
    const result = read(text);
    const { form } = result.ok ? result.body : assert.fail();
    const write = (...values: readonly [string, string][]) =>
      Buffer.concat([...formWith(form as Form, new Map(values))]).toString('latin1');
    const other = text.replace('\r\n\r\nm\r\n', '\r\n\r\ngpt\r\n');
    assert.equal(write(['model', 'gpt']), other);
    assert.equal(write(['n', '20'], ['model', 'gpt']), other.replace('\r\n\r\n1\r\n', '\r\n\r\n20\r\n'));
    assert.equal(write(['model', 'gpt'], ['k', 'v']), field('k', 'v') + other);
    assert.equal(formContentType(form as Form), TYPE);
  });

  test('of any bytes is read or refused', () => {
    const pieces = fc.constantFrom(
      '--b',
      '\r\n',
      '--',
      'Content-Disposition: form-data; name="a"',
      '; filename="f"',
      'x',
      '\r\n\r\n',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 }))), (parts) => {
        const result = readForm(Buffer.from(`--b\r\n${parts.join('')}`), TYPE);
        return result.ok || result.problem.length > 0;
      }),
      { numRuns: 2_000 },
    );
  });
});
