/** Reads the output of a content block, whole or in deltas. */
import { isObject } from '../../core/json.ts';
import { countOf, NO_OUTPUT, type Output, unseenTokensOf } from '../answer.ts';
import type { Fields } from '../dialect.ts';

const TEXT_FIELDS = ['text', 'thinking', 'partial_json', 'name'] as const;

/** Approximate tokens of a citation without the quoted text, which is free: two took 37 tokens. */
const TOKENS_PER_CITATION = 18;

/**
 * Returns the output of a whole block: text, thinking, calls and compaction summaries. Results of the host's tools are
 * input, such as `web_search_tool_result`, except for the advice of another model.
 */
export function outputOfBlock(block: unknown): Output {
  if (!isObject(block)) return NO_OUTPUT;
  const content = isCompaction(block) ? block.content : adviceIn(block);
  const written = textsOf(block);
  if (typeof content === 'string' && content !== '') written.push(content);
  const citations = Array.isArray(block.citations) ? block.citations.length : 0;
  const unseenTokens = unseenTokensIn(block, written) + citations * TOKENS_PER_CITATION;
  return { ...NO_OUTPUT, written, unseenTokens, images: block.type === 'image' ? 1 : 0 };
}

function textsOf(block: Fields): string[] {
  const texts = TEXT_FIELDS.map((field) => block[field]).filter((text) => typeof text === 'string' && text !== '');
  if (isObject(block.input) && Object.keys(block.input).length > 0) texts.push(JSON.stringify(block.input));
  return texts as string[];
}

function isCompaction({ type }: Fields): boolean {
  return type === 'compaction' || type === 'compaction_delta';
}

function adviceIn({ type, content }: Fields): unknown {
  return type === 'advisor_tool_result' && isObject(content) ? content.text : undefined;
}

/**
 * Returns the tokens of encrypted thinking, compaction and advice without their visible part, which the encrypted data
 * repeats.
 */
function unseenTokensIn(block: Fields, shown: readonly string[]): number {
  const { type, content } = block;
  switch (type) {
    case 'thinking':
      return unseenTokensOf(block.signature, lengthOf(shown));
    case 'redacted_thinking':
      return unseenTokensOf(block.data);
    case 'compaction':
    case 'compaction_delta':
      return unseenTokensOf(block.encrypted_content, lengthOf(shown));
    case 'advisor_tool_result':
      return isObject(content) ? unseenTokensOf(content.encrypted_content) : 0;
    default:
      return 0;
  }
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** Reads the blocks of a stream, each a start event and deltas. */
export class BlockReader {
  /** Bytes of visible thinking in the current block; infinite once the host reports an estimate. */
  #thoughtBytes = 0;

  begin(block: unknown): Output {
    const output = outputOfBlock(block);
    this.#thoughtBytes = lengthOf(output.written) + output.unseenTokens;
    return output;
  }

  /** Adds visible thinking. */
  addThinking(text: string): void {
    this.#thoughtBytes += Buffer.byteLength(text);
  }

  add(delta: unknown): Output {
    if (!isObject(delta)) return NO_OUTPUT;
    const output = outputOfBlock(delta);
    switch (delta.type) {
      case 'thinking_delta': {
        // The host's own estimate of hidden thinking, sent on request.
        const unseenTokens = countOf(delta.estimated_tokens) ?? 0;
        this.#thoughtBytes += unseenTokens > 0 ? Number.POSITIVE_INFINITY : lengthOf(output.written);
        return { ...output, unseenTokens };
      }
      case 'signature_delta':
        return { ...output, unseenTokens: unseenTokensOf(delta.signature, this.#thoughtBytes) };
      case 'citations_delta':
        return { ...output, unseenTokens: TOKENS_PER_CITATION };
      default:
        return output;
    }
  }
}
