/**
 * What models do unless a request forbids it, by the names that their hosts have for them: run tools of the host, and
 * think. As the hosts documented it in 2026-11. Pure.
 */
import type { HostTool } from '../core/host-tools.ts';

/** What a model does, of itself. */
export interface ModelTraits {
  readonly tools: readonly HostTool[];
  readonly thinks: boolean;
}

/** By the terms of models: their names are matched with all these patterns once, and not for each request. */
const known = new WeakMap<object, ModelTraits>();

/** `upstream`: the name that the host has for the model, such as `us.anthropic.claude-sonnet-5-v1:0`. */
export function traitsOf(model: { readonly upstream: string }): ModelTraits {
  let traits = known.get(model);
  if (traits === undefined) {
    traits = { tools: toolsRunBy(model.upstream), thinks: thinksUnlessTold(model.upstream) };
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
  const call = { calls: 1, isReported: false, settings: [], tokens: 0, where: 'model' };
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
