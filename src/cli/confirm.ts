/** Asks for confirmation of what cannot be undone, or is probably a slip. */
import { clean } from '../operator/text.ts';

/** Asks on stderr and reads a line from stdin. No answer means no. */
export async function isConfirmed(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline');
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  // Not `prompt.question`, which misses an answer without a line break at its end.
  const answer = await new Promise<string>((resolve) => {
    prompt.once('line', resolve).once('close', () => resolve(''));
    prompt.setPrompt(clean(question));
    prompt.prompt();
  });
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}
