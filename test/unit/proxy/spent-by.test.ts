/** Who a request is for: which header or field names the user, which app a User-Agent is of, and names that are hostile. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { isPrintable } from '../../../src/core/printable.ts';
import { cleanName, MAX_NAME_CHARACTERS } from '../../../src/core/spent-by.ts';
import { appOf, endUserOf, spentByHeaders, spentByOf } from '../../../src/proxy/spent-by.ts';
import { type JsonBody, readJsonBody } from '../../../src/wire/body.ts';
import { readForm } from '../../../src/wire/multipart.ts';
import { anyText } from '../../support/any-text.ts';
import { formOf } from '../../support/forms.ts';

const DEVICE = 'a'.repeat(64);
const ACCOUNT = '0e1f8d2c-1111-4222-8333-944445555666';
const claudeCode = (parts: object) => JSON.stringify(parts);

const header = (name: string) => ({ 'x-inf-gw-user': Buffer.from(name).toString('latin1') });
const messagesOf = (user_id: unknown) => ({ metadata: { user_id } });

function bodyOf(fields: object): JsonBody {
  const result = readJsonBody(Buffer.from(JSON.stringify(fields)));
  assert.ok(result.ok);
  return result.body;
}

async function formBodyOf(fields: Readonly<Record<string, string>>): Promise<JsonBody> {
  const { body, headers } = await formOf(Object.entries(fields));
  const result = readForm(body, headers['content-type']);
  assert.ok(result.ok);
  return result.body;
}

const USERS: readonly (readonly [what: string, headers: object, fields: object, user: string])[] = [
  ['a header', header('zoë'), {}, 'zoë'],
  ['a header before a body that says otherwise', header('zoë'), { safety_identifier: 'b', user: 5 }, 'zoë'],
  ['an empty header is none', header(''), { user: 'alice' }, 'alice'],
  ['safety_identifier before user', {}, { user: 'alice', safety_identifier: 'hash' }, 'hash'],
  ['user before metadata', {}, { user: 'alice', ...messagesOf('bob') }, 'alice'],
  ['an empty field is none', {}, { safety_identifier: '', user: '', ...messagesOf('bob') }, 'bob'],
  ['null is none', {}, { safety_identifier: null, user: null, ...messagesOf(null) }, ''],
  ['metadata that is no object', {}, { metadata: null }, ''],
  ['metadata of something else', {}, { metadata: { trace: 'x' } }, ''],
  ['blanks are a name', {}, { user: ' \t ' }, ' \t '],
  ['another letter case is another name', {}, { user: 'Alice' }, 'Alice'],
  ['composed', {}, { user: 'zo\u00eb' }, 'zo\u00eb'],
  ['decomposed: another name, though it looks the same', {}, { user: 'zoe\u0308' }, 'zoe\u0308'],
  ['from right to left', {}, { user: '\u202eecila' }, '\u202eecila'],
  ['a zero byte', {}, { user: 'a\0' }, 'a\0'],
  ['256 bytes', {}, { user: 'é'.repeat(128) }, 'é'.repeat(128)],
  ['Claude Code', {}, { metadata: { user_id: `user_${DEVICE}_account_${ACCOUNT}_session_${ACCOUNT}` } }, ACCOUNT],
  ['Claude Code with a key', {}, { metadata: { user_id: `user_${DEVICE}_account__session_${ACCOUNT}` } }, DEVICE],
  [
    'Claude Code, later',
    {},
    { metadata: { user_id: claudeCode({ device_id: DEVICE, account_uuid: ACCOUNT, session_id: 's' }) } },
    ACCOUNT,
  ],
  [
    'Claude Code, later, with a key',
    {},
    { metadata: { user_id: claudeCode({ device_id: DEVICE, account_uuid: '', session_id: 's' }) } },
    DEVICE,
  ],
  ['the name of the field in a form', {}, { 'metadata[user_id]': 'bob' }, ''],
  ['JSON of somebody else', {}, messagesOf('{"session_id" 1'), '{"session_id" 1'],
];

const NO_NAMES: readonly (readonly [what: string, headers: object, fields: object, place: string])[] = [
  ['a number', {}, { user: 5 }, 'user'],
  ['an object', {}, { safety_identifier: { name: 'alice' }, user: 'alice' }, 'safety_identifier'],
  ['a list', {}, messagesOf(['alice']), 'metadata.user_id'],
  ['257 bytes', {}, { user: `${'é'.repeat(128)}x` }, 'user'],
  ['257 bytes in a header', header('x'.repeat(257)), { user: 'alice' }, 'X-Inf-Gw-User'],
  ['a megabyte', {}, messagesOf('x'.repeat(1_000_000)), 'metadata.user_id'],
  ['bytes that are no UTF-8', { 'x-inf-gw-user': 'b\xfcro' }, {}, 'X-Inf-Gw-User'],
  ['half of a pair', {}, { user: 'a\ud800' }, 'user'],
  ['in a field that differs by letter case', {}, { User: 'ann' }, 'User'],
  ['in one by a long s, beside the header', header('ann'), { u\u017fer: 'bob' }, 'u\u017fer'],
  ['in another field of these', {}, { SAFETY_IDENTIFIER: 'ann', user: 'bob' }, 'SAFETY_IDENTIFIER'],
  ['where its place differs by letter case', {}, { Metadata: { user_id: 'ann' } }, 'Metadata'],
];

/** `user`: the name, or the field of the problem. */
const FORMS: readonly (readonly [what: string, fields: Readonly<Record<string, string>>, user: string])[] = [
  ['user', { user: 'alice' }, 'alice'],
  ['a member of metadata', { 'metadata[user_id]': 'bob' }, 'bob'],
  [
    'safety_identifier before the others',
    { 'metadata[user_id]': 'bob', user: 'al', safety_identifier: 'hash' },
    'hash',
  ],
  ['an empty field is none', { user: '', 'metadata[user_id]': 'bob' }, 'bob'],
  ['another member of metadata', { 'metadata[trace]': 'bob' }, ''],
  ['metadata in another letter case', { 'Metadata[user_id]': 'bob' }, 'Metadata'],
  ['too long', { 'metadata[user_id]': 'x'.repeat(257) }, 'metadata[user_id]'],
  ['Claude Code', { 'metadata[user_id]': `user_${DEVICE}_account_${ACCOUNT}_session_${ACCOUNT}` }, ACCOUNT],
];

const APPS: readonly (readonly [agent: string, app: string])[] = [
  ['', ''],
  ['OpenAI/Python 1.99.1', 'openai-python'],
  ['AsyncOpenAI/Python 1.99.1', 'openai-python'],
  ['AsyncAzureOpenAI/Python 1.99.1', 'openai-python'],
  ['OpenAI/JS 6.1.0', 'openai-node'],
  ['OpenAI/Go 1.0.0', 'openai-go'],
  ['OpenAI::Client/Ruby 0.9', 'openai-ruby'],
  ['OpenAIClientImpl/Java 2.0', 'openai-java'],
  ['Anthropic/Python 0.60.0', 'anthropic-sdk-python'],
  ['AsyncAnthropicBedrock/Python 0.60.0', 'anthropic-sdk-python'],
  ['Anthropic/JS 0.60.0', 'anthropic-sdk-typescript'],
  ['claude-cli/2.1.80 (external, cli)', 'claude-cli'],
  ['aider/0.86', 'aider'],
  ['opencode/1.0.1 ai-sdk/openai-compatible/1.0', 'opencode'],
  ['Cline/3.30.0', 'cline'],
  ['GeminiCLI-tui/0.61.0/m (linux; x64; terminal) google-genai-sdk/1.30.0', 'gemini-cli'],
  ['ai/5.0.1 ai-sdk/provider-utils/3.0 runtime/node.js/22', 'ai-sdk'],
  ['litellm/1.77', 'litellm'],
  ['curl/8.5.0', 'curl'],
  ['python-requests/2.32.3', 'python-requests'],
  ['Python/3.12 aiohttp/3.12', 'aiohttp'],
  ['node', 'node'],
  ['undici', 'undici'],
  ['Go-http-client/1.1', 'Go-http-client'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0', 'browser'],
  ['Mozilla/5.0 (Macintosh) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36', 'browser'],
  [
    'Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Cursor/1.7 Chrome/138.0 Electron/37.3 Safari/537.36',
    'cursor',
  ],
  ['My App/1.0', 'My'],
  ['<script>/1', 'script'],
  ['\u001b[31mred/1', '31mred'],
  ['/1', ''],
  [`${'x'.repeat(500)}/1`, 'x'.repeat(40)],
];

describe('the names of a request', () => {
  for (const [what, headers, fields, user] of USERS) {
    test(`the end user, ${what}: ${JSON.stringify(user)}`, () =>
      assert.deepEqual(endUserOf({ ...headers }, bodyOf(fields)), { ok: true, name: user }));
  }

  for (const [what, headers, fields, place] of NO_NAMES) {
    test(`the end user, ${what}: no name, and the problem names the place`, () => {
      const user = endUserOf({ ...headers }, bodyOf(fields));
      assert.ok(!user.ok && user.problem.startsWith(`${place}: `), JSON.stringify(user));
    });
  }

  for (const [what, fields, user] of FORMS) {
    test(`the end user of a form, ${what}: ${JSON.stringify(user)}`, async () => {
      const read = endUserOf({}, await formBodyOf(fields));
      assert.equal(read.ok ? read.name : read.problem.split(':', 1)[0], user);
    });
  }

  test('the end user is any text of up to 256 bytes, byte for byte, or none', () => {
    fc.assert(
      fc.property(anyText(300), (name) => {
        const user = endUserOf({}, bodyOf({ user: name }));
        const isName = name.isWellFormed() && Buffer.byteLength(name) <= 256;
        assert.equal(user.ok, isName);
        if (user.ok) assert.equal(user.name, name);
      }),
      { numRuns: 100 },
    );
  });

  test('are none without a user, a tag and an app', () => {
    assert.equal(spentByOf({}, ''), undefined);
    assert.equal(spentByHeaders({}), undefined);
    const tagged = spentByOf({ 'x-inf-gw-tag': Buffer.from('büro ü').toString('latin1') }, ' ');
    assert.deepEqual(tagged, { user: '', tag: 'büro ü', app: '' });
    assert.equal(spentByOf({ 'x-inf-gw-tag': 'b\xfcro' }, '')?.tag, 'büro');
    assert.equal(spentByHeaders(header('zoë'))?.user, 'zoë');
    assert.equal(spentByHeaders({ 'x-inf-gw-user': 'b\xfcro' }), undefined);
  });

  for (const [agent, app] of APPS) {
    test(`${agent.slice(0, 60)} is ${JSON.stringify(app.slice(0, 30))}`, () => assert.equal(appOf(agent), app));
  }

  test('are printable, on one line and short, whatever a client sends', () => {
    const hostile = fc.oneof(
      anyText(150),
      fc.string({
        unit: fc.constantFrom('\u202e', '\u0000', '\n', '\u2028', '\ud800', '😀', 'a', '\u00a0'),
        maxLength: 150,
      }),
    );
    fc.assert(
      fc.property(hostile, (name) => {
        const clean = cleanName(name);
        assert.ok(isPrintable(clean) && clean.isWellFormed() && clean === clean.trim());
        assert.ok(clean.length <= MAX_NAME_CHARACTERS);
        assert.equal(cleanName(clean), clean);
        const app = appOf(name);
        assert.match(app, /^[\w.+-]{0,40}$/);
      }),
      { numRuns: 60 },
    );
  });

  test('have no key in them, and a megabyte of them takes no time', () => {
    const key = `sk-inf-${'a'.repeat(40)}`;
    assert.equal(cleanName(`me ${key}`), 'me sk-inf-…');
    assert.equal(cleanName('x'.repeat(10_000_000)).length, MAX_NAME_CHARACTERS);
    assert.equal(cleanName(`${'x'.repeat(126)}😀y`), `${'x'.repeat(126)}…`);
  });
});
