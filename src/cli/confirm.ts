/** Asks the operator: for a line, or for confirmation of what cannot be undone or is probably a slip. */
import { clean } from '../operator/text.ts';

/**
 * Asks on stderr and reads a line from stdin. Undefined if there is none: stdin has ended, somebody pressed Ctrl-C, or the
 * signal is aborted.
 */
export async function ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
  const { createInterface } = await import('node:readline');
  const prompt = createInterface({ input: process.stdin, output: process.stderr, ...(signal && { signal }) });
  // Not `prompt.question`, which misses an answer without a line break at its end.
  const answer = await new Promise<string | undefined>((resolve) => {
    prompt.once('line', resolve).once('close', () => resolve(undefined));
    prompt.setPrompt(clean(question));
    prompt.prompt();
  });
  prompt.close();
  // Only a line typed at a terminal has ended the line of the question; what is said next starts one of its own.
  if (answer === undefined || !process.stdin.isTTY) process.stderr.write('\n');
  return answer;
}

/** Asks for confirmation. No answer means no. */
export async function isConfirmed(question: string, signal?: AbortSignal): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(question, signal))?.trim() ?? '');
}
