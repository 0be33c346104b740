/** Shows progress on a single line, if stderr is a terminal. */
export function showProgress(what: string, done: number, of: number): void {
  if (process.stderr.isTTY)
    process.stderr.write(`\r${what}: ${done.toLocaleString('en')} of ${of.toLocaleString('en')}   `);
}
