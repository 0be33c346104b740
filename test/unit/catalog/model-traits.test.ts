/** Which models think or return images unless they are told not to, by the names that hosts have for them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { traitsOf } from '../../../src/catalog/model-traits.ts';

const THINKS: readonly string[] = [
  ...['o1', 'o3-mini', 'o4-mini-2025-04-16', 'o3-pro', 'openai/o3', 'o4-mini-deep-research', 'codex-mini-latest'],
  ...['gpt-5', 'gpt-5-mini', 'gpt-5.1', 'gpt-5.2-chat-latest', 'gpt-5.3-codex', 'gpt-6-luna', 'openai/gpt-oss-120b'],
  ...['claude-sonnet-5', 'claude-opus-5-5', 'claude-haiku-5-5', 'claude-fable-5', 'claude-mythos-preview'],
  ...['us.anthropic.claude-sonnet-5-v1:0', 'anthropic/claude-opus-5', 'claude-opus-5@20260801'],
  ...['gemini-2.5-pro', 'google/gemini-3-flash-preview', 'gemini-flash-latest', 'models/gemini-3.5-flash'],
  ...['grok-4', 'grok-4-fast-reasoning', 'grok-3-mini', 'grok-code-fast-1', 'x-ai/grok-4.5'],
  ...['deepseek-reasoner', 'deepseek-ai/DeepSeek-R1', 'deepseek-v4-pro', 'accounts/fireworks/models/deepseek-r1'],
  ...['qwq-32b', 'Qwen/Qwen3-32B', 'qwen3.5-plus', 'kimi-k2-thinking', 'kimi-k2.5', 'glm-4.6', 'MiniMax-M2'],
  ...['magistral-medium-latest', 'gemini-2.0-flash-thinking-exp', 'sonar-reasoning-pro', 'phi-4-reasoning'],
];

const DOES_NOT: readonly string[] = [
  ...[
    'gpt-4o',
    'gpt-4.1-mini',
    'gpt-3.5-turbo',
    'chatgpt-4o-latest',
    'gpt-5-chat-latest',
    'gpt-audio',
    'gpt-4o-audio-preview',
  ],
  ...['claude-opus-4-8', 'claude-sonnet-4-20250514', 'claude-3-7-sonnet-20250219', 'claude-haiku-4-5-20251001'],
  ...['anthropic/claude-sonnet-4.5', 'anthropic.claude-3-5-sonnet-20241022-v2:0'],
  ...['gemini-2.0-flash', 'gemini-1.5-pro', 'grok-3', 'grok-4-fast-non-reasoning', 'deepseek-chat', 'deepseek-v3.1'],
  ...['qwen3-coder-plus', 'Qwen/Qwen3-235B-A22B-Instruct-2507', 'qwen-max', 'kimi-k2-0905', 'glm-4-flash'],
  ...['llama-3.3-70b', 'mistral-large-latest', 'vendor-echo-1', 'pro1', 'demo3', ''],
];

describe('a model thinks unless it is told not to', () => {
  for (const name of THINKS) test(name, () => assert.equal(traitsOf({ upstream: name }).thinks, true));
});

describe('a model does not think unless it is told to', () => {
  for (const name of DOES_NOT)
    test(name || 'without a name', () => assert.equal(traitsOf({ upstream: name }).thinks, false));
});

const DRAWS: readonly (readonly [name: string, tokensPerImage: number])[] = [
  ['gemini-2.5-flash-image', 2_520],
  ['models/gemini-2.5-flash-image-preview', 2_520],
  ['google/gemini-3-pro-image-preview', 2_520],
  ['gemini-2.0-flash-preview-image-generation', 2_520],
  ['nano-banana-pro-preview', 2_520],
  ['openai/gpt-5-image-mini', 6_240],
  ['gpt-image-1', 6_240],
  ['chatgpt-image-latest', 6_240],
  ['grok-2-image-1212', 6_240],
  ['grok-imagine-image', 6_240],
  ['black-forest-labs/flux.2-pro', 6_240],
  ['bytedance-seed/seedream-4.5', 6_240],
];
const DRAWS_NOT: readonly string[] = [
  ...['gemini-2.5-flash', 'gemini-3-pro-preview', 'gpt-5', 'gpt-4o', 'grok-4', 'qwen3-vl', 'vendor-echo-1'],
  ...['vit-gpt2-image-captioning', 'gemini-image-to-text', 'influx-1', 'imaginary', ''],
];

describe('a model returns images unasked', () => {
  for (const [name, tokensPerImage] of DRAWS) {
    test(name, () => {
      const { draws, tokensPerImage: most } = traitsOf({ upstream: name });
      assert.deepEqual([draws, most], [true, tokensPerImage]);
    });
  }
});

describe('a model returns no images unless it is asked', () => {
  for (const name of DRAWS_NOT)
    test(name || 'without a name', () => assert.equal(traitsOf({ upstream: name }).draws, false));
});
