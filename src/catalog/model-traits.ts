/**
 * What models do unless a request forbids it, by the names that their hosts have for them: run tools of the host, think,
 * and answer with images. As the hosts documented it in 2026-11. Pure.
 */
import type { HostTool } from '../core/host-tools.ts';

/** What a model does, of itself. */
export interface ModelTraits {
  readonly tools: readonly HostTool[];
  readonly thinks: boolean;
  /** It may answer with images that no request has asked for. */
  readonly draws: boolean;
  /** The most output tokens that its host bills for an image. */
  readonly tokensPerImage: number;
}

/** By the terms of models: their names are matched with all these patterns once, and not for each request. */
const known = new WeakMap<object, ModelTraits>();

/** `upstream`: the name that the host has for the model, such as `us.anthropic.claude-sonnet-5-v1:0`. */
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

/** A call is a request: these hosts bill a fee for each request, or report no calls. */
const UNASKED: readonly (readonly [names: RegExp, tool: string])[] = [
  // OpenAI, also by way of Azure and OpenRouter: gpt-4o-search-preview, gpt-5-search-api.
  [/-search-(?:preview|api)(?:-\d{4}-\d{2}-\d{2})?$/i, 'web_search'],
  // Perplexity: sonar, sonar-pro, sonar-reasoning-pro.
  [/^(?:.*\/)?sonar(?:-(?!deep-research).*)?$/i, 'web_search'],
  // Perplexity's and Alibaba's, which bill searches, citations and reasoning by rates of their own.
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

/** Hosts may show a summary of it, or nothing, and bill all of it. */
const THINKERS: readonly RegExp[] = [
  // OpenAI's o1, o3 and o4, and all of its later ones: GPT-5 (but for that of ChatGPT), codex, gpt-oss.
  /\bo[1-9]\b/,
  /\bgpt-(?!3|4|5-chat|audio|realtime|image)/,
  /\bcodex\b|\bcomputer-use\b|\bdeep-research\b/,
  // Anthropic's from version 5 on. Before that, a request has to ask for it.
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
/** Of the names above, those of models that do not think after all. */
const OTHERS = /\bnon-(?:thinking|reasoning)\b/;

function thinksUnlessTold(upstream: string): boolean {
  const name = upstream.toLowerCase();
  return !OTHERS.test(name) && THINKERS.some((pattern) => pattern.test(name));
}

/**
 * Google's (gemini-2.5-flash-image, gemini-2.0-flash-preview-image-generation, also by its nickname), OpenAI's
 * (gpt-5-image, gpt-image-1, chatgpt-image-latest) and xAI's, and families that make images alone. `-to-` marks models
 * that read images.
 */
const DRAWERS =
  /\b(?:gemini|(?:chat)?gpt|grok|qwen)-(?:[\w.-]*-)?imag(?:e|ine)\b(?!-to-)|\bnano-banana|\b(?:imagen|dall-e|flux|seedream|recraft|ideogram|stable-diffusion)\b/i;
const GOOGLES = /\bgemini\b|\bnano-banana/i;

/** One of 4K. */
const TOKENS_PER_IMAGE_OF_GOOGLE = 2_520;
/** OpenAI's largest in the highest quality. */
const TOKENS_PER_IMAGE = 6_240;
