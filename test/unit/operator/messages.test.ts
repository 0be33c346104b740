/** What the commands and the dashboard both say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allowlistText,
  explainKeyChange,
  refusalReason,
  servedBy,
  servedModel,
} from '../../../src/operator/messages.ts';

test('a key change that was not possible says why, and what to do next', () => {
  assert.match(
    explainKeyChange({ kind: 'no_such_key' }, 'a"b'),
    /^no such key: "a\\"b"; list keys with `.* keys list`$/,
  );
  assert.match(
    explainKeyChange({ kind: 'deleted' }, 'app'),
    /^key "app" was deleted permanently; create another with `/,
  );
  assert.match(
    explainKeyChange({ kind: 'name_taken' }, 'app'),
    /^a key named "app" already exists; choose another name/,
  );
});

test('an allowlist reads as its models, all or none', () => {
  assert.equal(allowlistText(null), 'all');
  assert.equal(allowlistText([]), 'none');
  assert.equal(allowlistText(['a/b', 'c/d']), 'a/b, c/d');
});

test('a refusal has a reason where its code alone does not say it', () => {
  assert.equal(refusalReason({ code: 'rate_limited', reason: 'tokens_per_minute' }), 'tokens per minute');
  assert.equal(refusalReason({ code: 'model_not_allowed', reason: 'model_not_allowed' }), undefined);
});

test('a request says which model and upstream served it', () => {
  assert.equal(servedModel('a/b'), 'a/b');
  assert.equal(servedModel('a/b', 'a/b'), 'a/b');
  assert.equal(servedModel('a/b', 'c/d'), 'a/b (fallback for c/d)');
  assert.equal(servedBy('openai#1'), 'openai#1');
  assert.equal(servedBy('openai#1', 3), 'openai#1, after 3 attempts');
});
