/** `serve`: runs the gateway. */
import type { Command } from 'commander';
import { configOf } from './state.ts';

export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('run the gateway; log lines go to stderr')
    .addHelpText('after', '\nExamples:\n  inf-gw serve\n  inf-gw serve --config /etc/inf-gw/config.yaml')
    .action((_: unknown, command: Command) => serve(command));
}

async function serve(command: Command): Promise<void> {
  const config = configOf(command);
  // Loaded here, so that the other commands need not wait for the HTTP client and the log.
  const [{ runGateway }, { openLog }] = await Promise.all([import('../gateway/serve.ts'), import('../observe/log.ts')]);
  const log = await openLog(config.logLevel, process.stderr.isTTY ? 'pretty' : 'json');
  try {
    process.exitCode = await runGateway(config, log, () => configOf(command));
  } finally {
    await log.close();
  }
  // Whatever is still open, a client that does not let go for one, must not keep a process that has settled everything.
  process.exit();
}
