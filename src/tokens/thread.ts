/** The tokenizer's thread: counts the tokens of texts, piece by piece. */
import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { CountOrder, CountResult } from './messages.ts';
import { piecesOf } from './pieces.ts';

/** Names of special tokens within a text are text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

parentPort?.on('message', ({ order, texts }: CountOrder) => {
  let tokens = 0;
  for (const text of texts) for (const piece of piecesOf(text)) tokens += countTokens(piece, AS_TEXT);
  parentPort?.postMessage({ order, tokens } satisfies CountResult);
});
