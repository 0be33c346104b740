/** Ignores environment variables that open the debugger or disable certificate checks. */

/** Matches the debugger options in NODE_OPTIONS and in the arguments of Node. */
const OPENS = /--inspect/;

/** Reverts dangerous settings in the environment. Returns a message for each. */
export async function hardenEnvironment(): Promise<readonly string[]> {
  const lines: string[] = [];
  if (await closeDebugger()) lines.push('closed the debugger that NODE_OPTIONS had opened');
  // Without the check, a machine in the middle could read provider keys.
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    lines.push(
      'ignored NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are always checked; name your own authority in NODE_EXTRA_CA_CERTS',
    );
  }
  return lines;
}

/**
 * Closes the debugger, since anybody who can connect to it can run code in this process. A debugger that the arguments of Node
 * request explicitly stays open. Returns whether one was open.
 */
async function closeDebugger(): Promise<boolean> {
  if (!OPENS.test(process.env.NODE_OPTIONS ?? '') || process.execArgv.some((argument) => OPENS.test(argument)))
    return false;
  const { close, url } = await import('node:inspector');
  const wasOpen = url() !== undefined;
  close();
  return wasOpen;
}
