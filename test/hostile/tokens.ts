/**
 * Tokens as the truthful host counts them: o200k_base, each text by itself, in pieces that keep
 * long texts linear.
 */
import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base';
import { piecesOf } from '../../src/tokens/pieces.ts';

// By default the tokenizer keeps 100,000 merges, which random letters fill with 100 MB.
setMergeCacheSize(2_000);

/** Names of special tokens within a text are text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };
/** Senders use the same texts again and again; counting is most of a host's work. */
const MOST_KNOWN = 1_000;
/** Shorter texts are counted faster than they are looked up. */
const WORTH_KNOWING_CHARACTERS = 200;
const known = new Map<string, number>();

export function tokensIn(text: string): number {
  const found = known.get(text);
  if (found !== undefined) return found;
  let tokens = 0;
  for (const piece of piecesOf(text)) tokens += countTokens(piece, AS_TEXT);
  if (text.length < WORTH_KNOWING_CHARACTERS) return tokens;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, tokens);
  return tokens;
}
