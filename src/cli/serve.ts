/** `serve`: runs the gateway. */
import type { Command } from 'commander';
import { configOrDefaults } from './state.ts';

export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('run the gateway; logs go to stderr')
    .addHelpText('after', '\nExamples:\n  inf-gw serve\n  inf-gw serve --config /etc/inf-gw/config.yaml')
    .action((_: unknown, command: Command) => serve(command));
}

async function serve(command: Command): Promise<void> {
  const config = configOrDefaults(command);
  // Loaded here so that other commands do not wait for the HTTP client and the logger.
  const [{ runGateway }, { openLog }] = await Promise.all([import('../gateway/serve.ts'), import('../observe/log.ts')]);
  const log = await openLog(config.logLevel, process.stderr.isTTY ? 'pretty' : 'json');
  try {
    process.exitCode = await runGateway(config, log, () => configOrDefaults(command));
  } finally {
    await log.close();
  }
  // Everything is settled. A client that does not close its connection must not keep us running.
  process.exit();
}
