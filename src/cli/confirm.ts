/** Asks the operator for a line, or to confirm an action that cannot be undone or is probably a mistake. */
import { clean } from '../operator/text.ts';

/**
 * Asks on stderr and reads a line from stdin. Undefined at the end of stdin, after Ctrl-C, and when the signal is aborted.
 */
export async function ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
  const { createInterface } = await import('node:readline');
  const prompt = createInterface({ input: process.stdin, output: process.stderr, ...(signal && { signal }) });
  // `prompt.question` would miss an answer without a line break at its end.
  const answer = await new Promise<string | undefined>((resolve) => {
    prompt.once('line', resolve).once('close', () => resolve(undefined));
    prompt.setPrompt(clean(question));
    prompt.prompt();
  });
  prompt.close();
  // Only a line typed at a terminal ends the line of the question. The next message must start on a new one.
  if (answer === undefined || !process.stdin.isTTY) process.stderr.write('\n');
  return answer;
}

/** Asks for confirmation. An empty answer means no. */
export async function isConfirmed(question: string, signal?: AbortSignal): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(question, signal))?.trim() ?? '');
}
