/**
 * A writer in a process of its own: takes a job from its parent, runs the real command line in its
 * directory, and reports. It ends when its parent does.
 */
import { type WriterJob, write } from './writer.ts';

const PROGRAM = new URL('../../dist/cli/main.js', import.meta.url).href;
const { main } = (await import(PROGRAM)) as { main(words: readonly string[]): Promise<void> };

// Each command listens for a closed stdout.
process.stdout.setMaxListeners(0);

/** Runs a command in this process: starting one takes a hundred times as long. */
async function run(words: readonly string[]): Promise<string> {
  const printed = { stdout: '', stderr: '' };
  process.stdout.write = (text) => gather('stdout', text);
  process.stderr.write = (text) => gather('stderr', text);
  process.exitCode = 0;
  await main(words);
  if (process.exitCode === 0) return printed.stdout;
  const status = process.exitCode;
  process.exitCode = 0;
  throw new Error(`exit status ${status}: ${printed.stderr}`);

  function gather(stream: keyof typeof printed, text: string | Uint8Array): true {
    printed[stream] += text;
    return true;
  }
}

process.once('disconnect', () => process.exit());
process.once('message', async (job: WriterJob) => {
  process.send?.(await write(job, run));
});
process.send?.('ready');
