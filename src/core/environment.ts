/** What the environment may not do to this program: open its debugger, or switch off the check of certificates. */

/** What opens the debugger, in the environment or among the arguments of Node. */
const OPENS = /--inspect/;

/** Undoes what the environment would weaken, as somebody has left it there. Returns a line for each thing undone. */
export async function hardenEnvironment(): Promise<readonly string[]> {
  const lines: string[] = [];
  if (await closeDebugger()) lines.push('closed the debugger that NODE_OPTIONS had opened');
  // Whoever is between the gateway and a provider would read its keys.
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    lines.push(
      'ignored NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are always checked; name your own authority in NODE_EXTRA_CA_CERTS',
    );
  }
  return lines;
}

/**
 * Whoever reaches a debugger runs code in this process. One that the arguments of Node itself ask for stays: this process
 * is being debugged. Returns whether one was open.
 */
async function closeDebugger(): Promise<boolean> {
  if (!OPENS.test(process.env.NODE_OPTIONS ?? '') || process.execArgv.some((argument) => OPENS.test(argument)))
    return false;
  const { close, url } = await import('node:inspector');
  const wasOpen = url() !== undefined;
  close();
  return wasOpen;
}
