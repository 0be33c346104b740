/** Progress on a line that is written over, where a person waits for it. */
export function showProgress(what: string, done: number, of: number): void {
  if (process.stderr.isTTY)
    process.stderr.write(`\r${what}: ${done.toLocaleString('en')} of ${of.toLocaleString('en')}   `);
}
