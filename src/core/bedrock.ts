/** Where Amazon Bedrock is, and what the names of its models say. */
import { BEDROCK_DIALECTS, type DialectName } from './dialects.ts';

/** Where the hosts of a region are. `part`: `bedrock-runtime` has the models, `bedrock` lists them. */
export function bedrockAddress(region: string, part: 'bedrock-runtime' | 'bedrock' = 'bedrock-runtime'): string {
  return `https://${part}.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`;
}

/** `anthropic.claude-…`, with a region in front, or at the end of an ARN. One of a profile of one's own does not say. */
export function isClaude(model: string): boolean {
  return /(?:^|[./])anthropic\.claude/.test(model);
}

export function isNova(model: string): boolean {
  return /(?:^|[./])amazon\.nova/.test(model);
}

/** What a host speaks to a model. `among`: what the config says of all; undefined if nothing. */
export function bedrockDialectsOf(
  model: string,
  among: readonly DialectName[] = BEDROCK_DIALECTS,
): readonly DialectName[] {
  return among.length === 1 ? among : [isClaude(model) ? 'messages' : 'converse'];
}
