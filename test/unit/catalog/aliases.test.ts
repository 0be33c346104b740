/** Which model a name stands for, and by which names a model is listed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Aliases } from '../../../src/catalog/aliases.ts';
import { Likenesses } from '../../../src/core/likeness.ts';

const ALIASES = new Aliases(
  new Map([
    ['fast', 'groq/llama'],
    ['gpt-4o', 'openai/gpt-4o'],
    ['claude-*', 'anthropic/claude-*'],
    ['claude-*-haiku', 'anthropic/haiku-*'],
    ['claude-opus-4', 'anthropic/claude-opus-5'],
    ['old-*', 'openai/gpt-5'],
    ['*', 'openrouter/any/*'],
    ['$&', 'p/$&'],
  ]),
);

const MEANT: readonly (readonly [name: string, id: string | undefined])[] = [
  ['fast', 'groq/llama'],
  ['Fast', 'openrouter/any/Fast'],
  ['gpt-4o', 'openai/gpt-4o'],
  ['claude-sonnet-5', 'anthropic/claude-sonnet-5'],
  ['claude-3-haiku', 'anthropic/haiku-3'],
  ['claude-opus-4', 'anthropic/claude-opus-5'],
  ['claude-', 'anthropic/claude-'],
  ['claude-haiku', 'anthropic/claude-haiku'],
  ['old-1', 'openai/gpt-5'],
  ['claude-$&', 'anthropic/claude-$&'],
  ['anthropic/x', undefined],
  ['old-a b', undefined],
  ['old-\u001b[2J', undefined],
  [`old-${'x'.repeat(200)}`, undefined],
  ['', undefined],
];

const LISTED: readonly (readonly [id: string, names: readonly string[]])[] = [
  ['groq/llama', ['fast']],
  ['anthropic/claude-sonnet-5', ['claude-sonnet-5']],
  ['anthropic/claude-opus-5', ['claude-opus-4', 'claude-opus-5']],
  ['anthropic/claude-opus-4', []],
  ['anthropic/haiku-3', ['claude-3-haiku']],
  ['openai/gpt-5', []],
  ['openrouter/any/x', ['x']],
  ['openrouter/any/fast', []],
  ['openrouter/any/claude-x', []],
];

describe('a name', () => {
  for (const [name, id] of MEANT) {
    test(`${JSON.stringify(name.slice(0, 20))} stands for ${id}`, () => assert.equal(ALIASES.idOf(name), id));
  }
});

describe('a model', () => {
  for (const [id, names] of LISTED) {
    test(`${id} is listed as ${names.join(', ') || 'itself alone'}`, () =>
      assert.deepEqual(ALIASES.namesOf(id).toSorted(), names));
  }
});

describe('the names most like', () => {
  const MODELS = ['anthropic/claude-opus-5', 'anthropic/claude-sonnet-5', 'openai/gpt-4o', 'openai/gpt-4o-mini', 'x/y'];
  const LIKE: readonly (readonly [name: string, near: readonly string[]])[] = [
    ['gpt4o', ['openai/gpt-4o', 'openai/gpt-4o-mini']],
    ['openai/claude-sonnet-5', ['anthropic/claude-sonnet-5', 'anthropic/claude-opus-5']],
    ['Claude-Opus-4-8[1m]', ['anthropic/claude-opus-5']],
    ['mistral-large', []],
    ['', []],
    ['/'.repeat(5_000_000), []],
  ];
  for (const [name, near] of LIKE) {
    test(`${JSON.stringify(name.slice(0, 30))} are ${near.join(', ') || 'none'}`, () => {
      const models = MODELS.map((id) => ({ id }));
      const likenesses = new Likenesses(models);
      const found = (among: typeof models, most: number) =>
        likenesses.mostAlike(name, new Set(among), most).map(({ id }) => id);
      assert.deepEqual(found(models, 3), near);
      assert.deepEqual(found(models, 1), near.slice(0, 1));
      assert.deepEqual(
        found(models.slice(1), 3),
        near.filter((id) => id !== MODELS[0]),
      );
    });
  }
});
