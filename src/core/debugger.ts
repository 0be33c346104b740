/** Keeps Node's debugger closed: whoever reaches it runs code in this process, and reads the keys of the providers. */

/** What opens it, in the environment or among the arguments of Node. */
const OPENS = /--inspect/;

/**
 * Closes a debugger that NODE_OPTIONS has opened, as somebody has left it in an environment. One that the arguments of
 * Node itself ask for stays: this process is being debugged. Returns whether it was open.
 */
export async function closeInheritedDebugger(): Promise<boolean> {
  if (!OPENS.test(process.env.NODE_OPTIONS ?? '') || process.execArgv.some((argument) => OPENS.test(argument)))
    return false;
  const { close, url } = await import('node:inspector');
  const wasOpen = url() !== undefined;
  close();
  return wasOpen;
}
