/** The models that run tools of their hosts without being asked, by the names that their hosts have for them. Pure. */
import type { HostTool } from '../core/host-tools.ts';

/**
 * As the hosts documented them in 2026-11. A call is a request: these hosts bill a fee for each request, or report no
 * calls.
 */
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

/** The tools that a model of this name runs. */
export function toolsRunBy(upstream: string): readonly HostTool[] {
  const names = new Set(UNASKED.flatMap(([pattern, tool]) => (pattern.test(upstream) ? [tool] : [])));
  const call = { calls: 1, isReported: false, settings: [], tokens: 0, where: 'model' };
  return Array.from(names, (name) => ({ ...call, name, calledAs: name }));
}
