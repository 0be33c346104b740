/** `credit`: the account balance and its history. */

import type { Command } from 'commander';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { program } from '../core/program.ts';
import { dateTime, exactUsd } from '../operator/format.ts';
import { readAmountAboveZero, readNote } from '../operator/input.ts';
import { BALANCE_TOO_LARGE, debtChange } from '../operator/messages.ts';
import type { Look, Table } from '../operator/table.ts';
import type { Balance, CreditEntry } from '../state/account.ts';
import { parseWith } from './arguments.ts';
import { defaultCommand } from './command-tree.ts';
import { isConfirmed } from './confirm.ts';
import { look, money, printFields, printJson, printLine, printTable } from './output.ts';
import { globalOptions, type State, withState } from './state.ts';

interface EntryOptions {
  readonly note?: string;
  readonly yes?: true;
}

export function registerCredit(program: Command): void {
  const credit = program.command('credit').description('manage the account balance, which pays for requests');

  defaultCommand(credit, 'show')
    .description('show the balance, and how much of it requests in flight hold')
    .addHelpText('after', '\nExample:\n  inf-gw credit show')
    .action((_: unknown, command: Command) =>
      withState(command, async (state) => printBalance(await state.account.balance(), command)),
    );

  for (const [verb, description, sign] of [
    ['add', 'add to the balance', 1n],
    ['remove', 'remove from the balance, to correct an entry', -1n],
  ] as const) {
    const change = credit
      .command(verb)
      .description(description)
      .argument('<usd>', 'an amount such as 25 or 0.50', parseWith(readAmountAboveZero))
      .option('--note <text>', 'what it is for, as shown in the history')
      .addHelpText(
        'after',
        `\nExamples:\n  inf-gw credit ${verb} 25\n  inf-gw credit ${verb} 25 --note "invoice 2026-11"`,
      )
      .action((nanos: Nanos, options: EntryOptions, command: Command) => enter(sign * nanos, options, command));
    if (sign < 0n) change.option('--yes', 'do not ask for confirmation when the balance would fall below zero');
  }

  credit
    .command('history')
    .description('list what was added and removed, oldest first')
    .addHelpText('after', '\nExample:\n  inf-gw credit history')
    .action((_: unknown, command: Command) => history(command));
}

async function enter(amountNanos: Nanos, { note = '', yes }: EntryOptions, command: Command): Promise<void> {
  const reading = readNote(note);
  if (!reading.ok) command.error(`error: --note: ${reading.expected}`);
  if (amountNanos < 0n && !yes) await confirmDebt(amountNanos, command);
  await withState(command, async (state) => printBalance(await enterCredit(amountNanos, note, state), command), {
    creates: true,
  });
}

/** Changes the balance. Throws a UserError if it would become too large. */
export async function enterCredit(amountNanos: Nanos, note: string, state: State): Promise<Balance> {
  const balance = await state.account.enter(amountNanos, note, state.nowMs);
  if (balance === undefined) throw new UserError(BALANCE_TOO_LARGE);
  return balance;
}

async function confirmDebt(amountNanos: Nanos, command: Command): Promise<void> {
  const { balanceNanos } = await withState(command, (state) => state.account.balance());
  const change = debtChange(balanceNanos, amountNanos, money);
  if (change === undefined) return;
  if (await isConfirmed(`This takes the balance ${change}. Remove it? (y/N) `)) return;
  throw new UserError(`nothing was removed: it would take the balance ${change}; to remove it, answer y or use --yes`);
}

export function balanceJson({ balanceNanos, heldNanos }: Balance) {
  return {
    balance_usd: formatUsd(balanceNanos),
    held_usd: formatUsd(heldNanos),
    available_usd: formatUsd(balanceNanos - heldNanos),
  };
}

function printBalance(balance: Balance, command: Command): void {
  if (globalOptions(command).json) return printJson(balanceJson(balance));
  const { balanceNanos, heldNanos } = balance;
  printFields([
    ['balance', `${money(balanceNanos)} USD`],
    ['held by requests in flight', `${money(heldNanos)} USD`],
    ['available', `${money(balanceNanos - heldNanos)} USD`],
  ]);
}

function history(command: Command): Promise<void> {
  return withState(command, async (state) => {
    const entries = await state.account.history();
    if (globalOptions(command).json) {
      return printJson(
        entries.map((entry) => ({
          at: isoTime(entry.atMs),
          amount_usd: formatUsd(entry.amountNanos),
          balance_usd: formatUsd(entry.balanceNanos),
          note: entry.note,
        })),
      );
    }
    if (entries.length === 0) return printLine(`No credit yet. Add some with: ${program('credit', 'add', '10')}`);
    printTable(historyTable(entries, look()));
  });
}

export function historyTable(entries: readonly CreditEntry[], look: Look): Table {
  const isForPeople = look.room !== undefined;
  return {
    columns: [
      { head: isForPeople ? 'AT (UTC)' : 'AT' },
      { head: 'AMOUNT (USD)', usd: true },
      { head: 'BALANCE (USD)', usd: true, rank: 2 },
      { head: 'NOTE', least: 10, rank: 1 },
    ],
    rows: entries.map(({ atMs, amountNanos, balanceNanos, note }) => [
      isForPeople ? dateTime(atMs) : isoTime(atMs),
      exactUsd(amountNanos),
      exactUsd(balanceNanos),
      note,
    ]),
  };
}
