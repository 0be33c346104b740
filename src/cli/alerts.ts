/** `alerts`: sends a test alert to each target, and lists past alerts. */
import type { Command } from 'commander';
import { deliver } from '../alerts/deliver.ts';
import { type AlertEvent, testEvent } from '../alerts/event.ts';
import { targetId } from '../alerts/target-id.ts';
import type { Config } from '../config/config.ts';
import { type AlertTarget, shownTarget } from '../core/alert-targets.ts';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { dateTime, milliseconds } from '../operator/format.ts';
import { marked } from '../operator/table.ts';
import type { AlertDelivery, DeliveryState } from '../state/alerts.ts';
import { openStateToRead } from '../state/open.ts';
import { notice, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

const FAILED = 1;
/** The number of deliveries in the list. */
const LISTED = 50;

export function registerAlerts(program: Command): void {
  const alerts = program.command('alerts').description('test where alerts go, and list those that were sent');

  alerts
    .command('test')
    .description('send a test event to every target now; exit with status 1 if one of them fails')
    .addHelpText('after', '\nExamples:\n  inf-gw alerts test\n  inf-gw alerts test --json')
    .action((_: unknown, command: Command) => test(command));

  alerts
    .command('list')
    .description(`list the latest ${LISTED} deliveries, newest first, and what became of them`)
    .addHelpText('after', '\nExamples:\n  inf-gw alerts list\n  inf-gw alerts list --json')
    .action((_: unknown, command: Command) => list(command));
}

interface Tried {
  readonly target: AlertTarget;
  readonly isDelivered: boolean;
  readonly text: string;
  readonly tookMs: number;
}

async function test(command: Command): Promise<void> {
  const config = configOf(command);
  if (config.alerts.length === 0) throw new UserError(nowhere(config));
  const event = JSON.stringify(testEvent(config.node, Date.now()));
  const tried = await Promise.all(config.alerts.map((target) => tryOne(target, event)));
  const failed = tried.filter(({ isDelivered }) => !isDelivered);
  const ok = failed.length === 0;
  if (!ok) process.exitCode = FAILED;
  if (globalOptions(command).json) printJson({ ok, targets: tried.map(triedJson) });
  else printTried(tried);
  for (const each of failed) notice(`error: ${failureText(each)}`);
}

function printTried(tried: readonly Tried[]): void {
  printTable({
    columns: [
      { head: 'TARGET' },
      { head: 'ADDRESS', least: 16, rank: 1 },
      { head: 'RESULT' },
      { head: 'ANSWER', prose: true, least: 12 },
      { head: 'TIME', number: true, rank: 2 },
    ],
    rows: tried.map(({ target, isDelivered, text, tookMs }) => [
      target.name,
      shownTarget(target),
      isDelivered ? marked('delivered', 'good') : marked('failed', 'bad'),
      text,
      milliseconds(tookMs),
    ]),
  });
}

function nowhere({ path }: Config): string {
  const where = path === undefined ? 'there is no config file' : `${path} has no \`alerts:\``;
  return `${where}, so alerts go nowhere; add webhooks or a command there, as config.example.yaml shows`;
}

async function tryOne(target: AlertTarget, event: string): Promise<Tried> {
  const startedAtMs = performance.now();
  const { isDelivered, text } = await deliver(target, event);
  return { target, isDelivered, text, tookMs: Math.round(performance.now() - startedAtMs) };
}

function failureText({ target, text }: Tried): string {
  const { name, missingVariable } = target;
  const remedy =
    missingVariable === undefined
      ? 'correct it, or its entry under `alerts:` in the config'
      : `set ${missingVariable}, such as in the file .env next to the config`;
  return `${name} (${shownTarget(target)}) did not take the test event: ${text}; ${remedy}`;
}

function triedJson({ target, isDelivered, text, tookMs }: Tried) {
  return { target: target.name, address: shownTarget(target), delivered: isDelivered, answer: text, took_ms: tookMs };
}

async function list(command: Command): Promise<void> {
  const config = configOf(command);
  const state = await openStateToRead(config.state, config.durability);
  let deliveries: readonly AlertDelivery[];
  try {
    deliveries = await state.run(() => state.alerts.list(LISTED));
  } finally {
    await state.close();
  }
  const names = new Map(config.alerts.map((target) => [targetId(target), target.name]));
  const rows = deliveries.map((delivery) => ({
    ...delivery,
    event: JSON.parse(delivery.body) as AlertEvent,
    name: names.get(delivery.target) ?? 'no longer configured',
  }));
  if (globalOptions(command).json) {
    return printJson(
      rows.map(({ event, name, state: outcome, attempts, answer }) => ({
        ...event,
        target: name,
        state: outcome,
        attempts,
        answer,
      })),
    );
  }
  if (rows.length === 0) {
    return printLine(`No alerts yet. \`${program('alerts', 'test')}\` sends a test event to every target.`);
  }
  printTable({
    columns: [
      { head: 'AT' },
      { head: 'EVENT', least: 20 },
      { head: 'TARGET', rank: 1 },
      { head: 'STATE' },
      { head: 'ATTEMPTS', number: true, rank: 3 },
      { head: 'ANSWER', prose: true, least: 8, rank: 2 },
    ],
    rows: rows.map(({ event, name, state: outcome, attempts, answer }) => [
      dateTime(Date.parse(event.at)),
      event.text,
      name,
      marked(outcome, TONES[outcome]),
      String(attempts),
      answer ?? '-',
    ]),
  });
}

const TONES: Readonly<Record<DeliveryState, 'good' | 'warn' | 'bad'>> = {
  delivered: 'good',
  pending: 'warn',
  failed: 'bad',
};
