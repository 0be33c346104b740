/**
 * Default behaviour of models by their hosts' names: running the host's tools, reasoning, and returning images. As
 * documented by the hosts in 2026-11. Pure.
 */
import type { HostTool } from '../core/host-tools.ts';

/** The default behaviour of a model. */
export interface ModelTraits {
  readonly tools: readonly HostTool[];
  readonly thinks: boolean;
  /** Whether it may return images without a request for them. */
  readonly draws: boolean;
  /** The maximum of output tokens that its host bills for an image. */
  readonly tokensPerImage: number;
}

/** Cached by model: its name is matched with all patterns once. */
const known = new WeakMap<object, ModelTraits>();

/** `upstream`: the host's name for the model, such as `us.anthropic.claude-sonnet-5-v1:0`. */
export function traitsOf(model: { readonly upstream: string }): ModelTraits {
  let traits = known.get(model);
  if (traits === undefined) {
    const { upstream } = model;
    traits = {
      tools: toolsRunBy(upstream),
      thinks: thinksUnlessTold(upstream),
      draws: DRAWERS.test(upstream),
      tokensPerImage: GOOGLES.test(upstream) ? TOKENS_PER_IMAGE_OF_GOOGLE : TOKENS_PER_IMAGE,
    };
    known.set(model, traits);
  }
  return traits;
}

/** Each request counts as one call: these hosts bill a fee per request, or do not report calls. */
const UNASKED: readonly (readonly [names: RegExp, tool: string])[] = [
  // OpenAI, also through Azure and OpenRouter: gpt-4o-search-preview, gpt-5-search-api.
  [/-search-(?:preview|api)(?:-\d{4}-\d{2}-\d{2})?$/i, 'web_search'],
  // Perplexity: sonar, sonar-pro, sonar-reasoning-pro.
  [/^(?:.*\/)?sonar(?:-(?!deep-research).*)?$/i, 'web_search'],
  // Perplexity and Alibaba bill searches, citations and reasoning at separate rates.
  [/(?:sonar|qwen)-deep-research/i, 'deep_research'],
  // OpenRouter's short form of its plugin.
  [/:online(?::|$)/i, 'web_search'],
  // Groq: groq/compound, compound-mini, compound-beta.
  [/^(?:.*\/)?compound(?:-.*)?$/i, 'compound'],
];

function toolsRunBy(upstream: string): readonly HostTool[] {
  const names = new Set(UNASKED.flatMap(([pattern, tool]) => (pattern.test(upstream) ? [tool] : [])));
  const call = { calls: 1, isUnbounded: true, isReported: false, settings: [], tokens: 0, where: 'model' } as const;
  return Array.from(names, (name) => ({ ...call, name, calledAs: name }));
}

/** Models that reason. Hosts bill all reasoning, even if they show only a summary or no part of it. */
const THINKERS: readonly RegExp[] = [
  // OpenAI's o1, o3 and o4, and all later models: GPT-5 (except ChatGPT's), codex, gpt-oss.
  /\bo[1-9]\b/,
  /\bgpt-(?!3|4|5-chat|audio|realtime|image)/,
  /\bcodex\b|\bcomputer-use\b|\bdeep-research\b/,
  // Anthropic's models from version 5 on. For earlier ones, a request must enable it.
  /\bclaude-(?:fable|mythos)\b|\bclaude-[a-z]+-(?:[5-9]|\d\d)\b/,
  /\bgemini-(?:2\.5|[3-9]|\d\d|pro-latest|flash(?:-lite)?-latest)/,
  /\bgrok-(?:3-mini|[4-9]|\d\d|code)/,
  /\bdeepseek-(?:reasoner|r\d|v[4-9])/,
  /\bqwen-?3(?!.*(?:instruct|coder|max))|\bqwq\b|\bqvq\b/,
  /\bkimi-k(?:2\.[5-9]|[3-9])/,
  /\bglm-(?:4\.[5-9]|[5-9])/,
  /\bminimax-m\d|\bmagistral\b|\bseed-(?:1\.[6-9]|[2-9]|oss)/,
  /\b(?<!non-)(?:thinking|reasoning)\b/,
];
/** Exceptions to the names above: models that do not reason. */
const OTHERS = /\bnon-(?:thinking|reasoning)\b/;

function thinksUnlessTold(upstream: string): boolean {
  const name = upstream.toLowerCase();
  return !OTHERS.test(name) && THINKERS.some((pattern) => pattern.test(name));
}

/**
 * Google's (gemini-2.5-flash-image, gemini-2.0-flash-preview-image-generation, also by its nickname), OpenAI's (gpt-5-image,
 * gpt-image-1, chatgpt-image-latest) and xAI's models, and families that only produce images. `-to-` marks models that read
 * images.
 */
const DRAWERS =
  /\b(?:gemini|(?:chat)?gpt|grok|qwen)-(?:[\w.-]*-)?imag(?:e|ine)\b(?!-to-)|\bnano-banana|\b(?:imagen|dall-e|flux|seedream|recraft|ideogram|stable-diffusion)\b/i;
const GOOGLES = /\bgemini\b|\bnano-banana/i;

/** An image of 4K. */
const TOKENS_PER_IMAGE_OF_GOOGLE = 2_520;
/** OpenAI's largest image in the highest quality. */
const TOKENS_PER_IMAGE = 6_240;
