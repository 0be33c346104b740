/** What a model has written in a content block, whole or in deltas. */
import { isObject } from '../../core/json.ts';
import { countOf, NO_OUTPUT, type Output, unseenTokensOf } from '../answer.ts';
import type { Fields } from '../dialect.ts';

const TEXT_FIELDS = ['text', 'thinking', 'partial_json', 'name'] as const;

/** About what a citation takes beside the text that it quotes, which is not billed: two of them took 37 tokens. */
const TOKENS_PER_CITATION = 18;

/**
 * What a model has written in a whole block: text, thinking, calls, and summaries of compaction. What a host's tools
 * have brought in is input, such as `web_search_tool_result`, but for the advice of another model.
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

/** The text of an `advisor_tool_result`. */
function adviceIn({ type, content }: Fields): unknown {
  return type === 'advisor_tool_result' && isObject(content) ? content.text : undefined;
}

/** Encrypted thinking, compaction and advice. What is shown of it is in there once more. */
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

/** Reads the blocks of a stream: each begins, and grows by deltas. */
export class BlockReader {
  /** What the current block has shown of its thinking, in bytes; infinite once it says itself how much it is. */
  #thoughtBytes = 0;

  begin(block: unknown): Output {
    const output = outputOfBlock(block);
    this.#thoughtBytes = lengthOf(output.written) + output.unseenTokens;
    return output;
  }

  /** Adds thinking that is shown. */
  addThinking(text: string): void {
    this.#thoughtBytes += Buffer.byteLength(text);
  }

  add(delta: unknown): Output {
    if (!isObject(delta)) return NO_OUTPUT;
    const output = outputOfBlock(delta);
    switch (delta.type) {
      case 'thinking_delta': {
        // The host's own estimate of thinking that it does not show, which comes where it is asked for.
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
