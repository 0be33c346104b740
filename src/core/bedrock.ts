/** Amazon Bedrock: host addresses and model names. */
import { BEDROCK_DIALECTS, type DialectName } from './dialects.ts';

/** Returns the base URL of a region. `bedrock-runtime` runs the models, `bedrock` lists them. */
export function bedrockAddress(region: string, part: 'bedrock-runtime' | 'bedrock' = 'bedrock-runtime'): string {
  return `https://${part}.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`;
}

/**
 * Matches `anthropic.claude-…`, optionally after a region or at the end of an ARN. The ARN of an application inference profile
 * does not contain the model name and does not match.
 */
export function isClaude(model: string): boolean {
  return /(?:^|[./])anthropic\.claude/.test(model);
}

export function isNova(model: string): boolean {
  return /(?:^|[./])amazon\.nova/.test(model);
}

/** Returns the dialects of the host for a model. `among`: the configured dialects; all dialects of Bedrock by default. */
export function bedrockDialectsOf(
  model: string,
  among: readonly DialectName[] = BEDROCK_DIALECTS,
): readonly DialectName[] {
  return among.length === 1 ? among : [isClaude(model) ? 'messages' : 'converse'];
}
