/** `serve`: runs the gateway. */
import type { Command } from 'commander';
import { configOrDefaults } from './state.ts';
import type { ThoroughCommand } from './thorough-command.ts';

/** The option by which other servers accept an address. */
const ADDRESS_OPTIONS = ['--port', '-p', '--host', '-H', '--bind', '--address', '--addr', '--listen', '-l'];

export function registerServe(program: Command): void {
  const command = program.command('serve') as ThoroughCommand;
  command
    .pointTo('set the address in the config, such as `listen: 127.0.0.1:8787`', ADDRESS_OPTIONS)
    .description('run the gateway; logs go to stderr')
    .option(
      '--takeover',
      'take over the address and the state of the gateway that runs on this state, without a pause; just start if none runs',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw serve\n  inf-gw serve --config /etc/inf-gw/config.yaml\n  inf-gw serve --takeover',
    )
    .action(({ takeover = false }: { takeover?: boolean }, command: Command) => serve(command, takeover));
}

async function serve(command: Command, takeover: boolean): Promise<void> {
  const config = configOrDefaults(command);
  // Loaded here so that other commands do not load the HTTP client and the logger.
  const [{ runGateway }, { openLog }] = await Promise.all([import('../gateway/serve.ts'), import('../observe/log.ts')]);
  const log = await openLog(config.logLevel, process.stderr.isTTY ? 'pretty' : 'json');
  try {
    process.exitCode = await runGateway(config, log, { readConfig: () => configOrDefaults(command), takeover });
  } finally {
    await log.close();
  }
  // Everything is settled. A client that keeps its connection open must not keep the process alive.
  process.exit();
}
