/** What the names of models at Amazon Bedrock say: `anthropic.claude-…`, `eu.anthropic.claude-…`, or ARNs that end so. */

/** An ARN of a profile of one's own says nothing of its model. */
export function isClaude(model: string): boolean {
  return /(?:^|[./])anthropic\.claude/.test(model);
}

export function isNova(model: string): boolean {
  return /(?:^|[./])amazon\.nova/.test(model);
}
