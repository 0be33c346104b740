/** What people are told beside the result of a command. */

/** For what is no result: notices and warnings, which must not get into a pipe. */
export function notice(line: string): void {
  process.stderr.write(`${line}\n`);
}
