/** The command line with all commands. */
import type { Command } from 'commander';
import { commandTree } from './command-tree.ts';
import { COMPLETE } from './completion/scripts.ts';
import { type Commands, prepareProcess, programOf, run } from './program.ts';

/** Loaded on demand: all commands together take 50 ms. */
const COMMANDS: Commands = {
  init: async () => (await import('./init.ts')).registerInit,
  serve: async () => (await import('./serve.ts')).registerServe,
  status: async () => (await import('./status.ts')).registerStatus,
  reload: async () => (await import('./status.ts')).registerReload,
  run: async () => (await import('./run/run.ts')).registerRun,
  env: async () => (await import('./env.ts')).registerEnv,
  tui: async () => (await import('./tui.ts')).registerTui,
  keys: async () => (await import('./keys.ts')).registerKeys,
  groups: async () => (await import('./groups.ts')).registerGroups,
  users: async () => (await import('./users.ts')).registerUsers,
  limits: async () => (await import('./limits.ts')).registerLimits,
  allowlist: async () => (await import('./allowlist.ts')).registerAllowlist,
  credit: async () => (await import('./credit.ts')).registerCredit,
  usage: async () => (await import('./usage.ts')).registerUsage,
  requests: async () => (await import('./requests.ts')).registerRequests,
  explain: async () => (await import('./explain.ts')).registerExplain,
  models: async () => (await import('./models.ts')).registerModels,
  prices: async () => (await import('./prices.ts')).registerPrices,
  alerts: async () => (await import('./alerts.ts')).registerAlerts,
  config: async () => (await import('./config.ts')).registerConfig,
  doctor: async () => (await import('./doctor.ts')).registerDoctor,
  audit: async () => (await import('./audit.ts')).registerAudit,
  backup: async () => (await import('./backup.ts')).registerBackup,
  restore: async () => (await import('./backup.ts')).registerRestore,
  state: async () => (await import('./state-commands.ts')).registerState,
  completion: async () => (await import('./completion/completion.ts')).registerCompletion,
  version: async () => (await import('./version.ts')).registerVersion,
};

/** The program with the command that `args` name. Without one, or for the help, it has all commands. */
export function buildProgram(args: readonly string[] = []): Promise<Command> {
  return programOf(COMMANDS, args);
}

/** Runs a command and sets the exit status. */
export async function main(args: readonly string[]): Promise<void> {
  prepareProcess();
  if (args[0] === COMPLETE) return complete(args.slice(1));
  await run(COMMANDS, args);
}

/** Answers a completion script. */
async function complete(words: readonly string[]): Promise<void> {
  const { printCompletions } = await import('./completion/complete.ts');
  await printCompletions(commandTree(await buildProgram(words.slice(0, -1))), words);
}
