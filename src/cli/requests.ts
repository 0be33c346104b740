/** `requests`: lists, shows and follows single requests, stops them, and corrects charges of source `held`. */
import type { Command } from 'commander';
import { readRefusals, stopRequest } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { redactKeys } from '../core/api-key.ts';
import { readPriceText } from '../core/charged-price.ts';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { Failure } from '../core/failure.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { program } from '../core/program.ts';
import { isErrorOutcome, type Outcome } from '../core/settlement.ts';
import type { Refusal } from '../observe/refusals.ts';
import { csvText } from '../operator/export.ts';
import { count, dateTime, exactUsd } from '../operator/format.ts';
import { MOMENT, readAmount, readCount, readMoment } from '../operator/input.ts';
import { durationOf, requestFields } from '../operator/request-fields.ts';
import { type Cell, type Field, type Look, marked, type Table } from '../operator/table.ts';
import { type Correction, type RequestRecord, requestIdOf } from '../state/requests.ts';
import { parseWith } from './arguments.ts';
import { defaultCommand } from './command-tree.ts';
import { findKey } from './key-view.ts';
import {
  jsonLine,
  look,
  printCsv,
  printFields,
  printJson,
  printLine,
  printLines,
  printNote,
  printTable,
} from './output.ts';
import { groupOf } from './owner.ts';
import { followedLine, followRequests } from './requests-follow.ts';
import { globalOptions, type State, withState } from './state.ts';
import { readReportedName } from './users.ts';

const MAX_LISTED = 100_000;
const DEFAULT_LISTED = 50;

interface ListOptions {
  readonly key?: string;
  readonly group?: string;
  readonly user?: string;
  readonly model?: string;
  readonly since?: number;
  readonly until?: number;
  readonly follow?: true;
  readonly csv?: true;
  readonly errors?: true;
  readonly refused?: true;
  readonly limit: number;
}

export function registerRequests(program: Command): void {
  const requests = program.command('requests').description('list, show, stop and correct admitted requests');

  defaultCommand(requests, 'list')
    .description('list requests that have ended, newest first')
    .option('--key <key>', 'only this key (id or name)')
    .option('--group <group>', 'only what was booked to this group (@name), with the groups in it')
    .option(
      '--user <name>',
      'only those of this end user, as `usage --by user` names them',
      parseWith(readReportedName),
    )
    .option('--model <model>', 'only requests served by this model')
    .option('--since <time>', `admitted from this time on: ${MOMENT}`, parseWith(readMoment(Date.now())))
    .option('--until <time>', 'admitted before this time', parseWith(readMoment(Date.now())))
    .option('--errors', 'only requests that ended in an error')
    .option('--refused', 'refused requests instead, which the gateway keeps only while it runs')
    .option('--follow', 'print requests of the gateway here as they end, until Ctrl-C')
    .option('--csv', 'print comma-separated values')
    .option('--limit <n>', 'at most this many', parseWith(readCount(MAX_LISTED)), DEFAULT_LISTED)
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw requests\n  inf-gw requests --errors --since 1h\n  inf-gw requests --refused\n  inf-gw requests --group @free --user zoe\n  inf-gw requests --key my-app --limit 500 --json\n  inf-gw requests --model openai/gpt-4o-mini --since today --csv > requests.csv\n  inf-gw requests --follow --errors',
    )
    .action((options: ListOptions, command: Command) => {
      if (options.refused && options.group !== undefined) {
        command.error('error: --refused and --group cannot be used together: a refused request is booked to no group');
      }
      checkOptions(options, command);
      const run = options.follow ? follow : options.refused ? listRefused : list;
      return withState(command, (state) => run(options, command, state));
    });

  requests
    .command('show')
    .description('show everything about one request')
    .argument('<id>', 'the X-Request-Id of the response, or the id of the completion')
    .addHelpText('after', '\nExamples:\n  inf-gw requests show req_06fb…\n  inf-gw requests show chatcmpl-9xK…')
    .action((id: string, _: unknown, command: Command) => withState(command, (state) => show(id, command, state)));

  requests
    .command('stop')
    .description('stop a request in flight: its client gets an error; a stream is charged for its output, JSON as held')
    .argument('<id>', 'the X-Request-Id of the response')
    .addHelpText('after', '\nExample:\n  inf-gw requests stop req_06fb…')
    .action((id: string, _: unknown, command: Command) =>
      withState(command, (state) => stop(requestIdOf(id), command, state)),
    );

  requests
    .command('settle')
    .description('correct the charge of a request whose end the gateway did not see (its source is `held`)')
    .argument('<id>', 'the request id')
    .requiredOption('--cost <usd>', 'the actual cost, as billed by the provider', parseWith(readAmount))
    .addHelpText('after', '\nExample:\n  inf-gw requests settle req_06fb… --cost 0.0123')
    .action((id: string, { cost }: { cost: Nanos }, command: Command) =>
      withState(command, async (state) =>
        printRequest(correctedOrThrow(await state.requests.correct(id, cost, state.nowMs), id), command, state),
      ),
    );
}

function checkOptions({ follow, refused, csv, since, until, limit }: ListOptions, command: Command): void {
  const { json } = globalOptions(command);
  const refuse = (a: string, b: string) => command.error(`error: ${a} and ${b} cannot be used together`);
  if (csv && json) refuse('--csv', '--json');
  if (follow && csv) refuse('--follow', '--csv');
  if (follow && refused) refuse('--follow', '--refused');
  if (follow && (since !== undefined || until !== undefined)) refuse('--follow', '--since or --until');
  if (follow && limit !== DEFAULT_LISTED) refuse('--follow', '--limit');
  if (csv && refused) refuse('--csv', '--refused');
  if (since !== undefined && until !== undefined && since >= until) {
    command.error('error: --since must be before --until');
  }
}

async function follow(options: ListOptions, command: Command, state: State): Promise<void> {
  const key = options.key === undefined ? undefined : await findKey(options.key, state, { withDeleted: true });
  const group = await groupOf(options.group, state);
  const { user, model, errors = false } = options;
  const isShared = state.nodes !== undefined;
  const isShown = (request: RequestRecord) =>
    (key === undefined || request.keyId === key.id) &&
    (group === undefined || (request.levels?.includes(group.id) ?? false)) &&
    (user === undefined || request.end?.spentBy?.user === user) &&
    (model === undefined || request.model === model) &&
    (!errors || (request.end !== undefined && isErrorOutcome(request.end.outcome)));
  const { json } = globalOptions(command);
  await followRequests(state, isShown, (requests) => {
    if (json) for (const each of requests) process.stdout.write(jsonLine(requestJson(each, isShared)));
    else printLines(requests.map((each) => followedLine(each, look())));
  });
}

async function list(options: ListOptions, command: Command, state: State): Promise<void> {
  const key = options.key === undefined ? undefined : await findKey(options.key, state, { withDeleted: true });
  const { user, model, since: sinceMs, until: untilMs, errors = false, limit } = options;
  const group = await groupOf(options.group, state);
  const query = { keyId: key?.id, groupId: group?.id, user, model, sinceMs, untilMs, errors, limit };
  const records = await state.requests.list(query);
  const isShared = state.nodes !== undefined;
  const { json } = globalOptions(command);
  if (json) return printJson(records.map((request) => requestJson(request, isShared)));
  if (options.csv) return printCsv(csvText(records.map((request) => flatRequest(request, isShared))));
  const isNarrowed = errors || [key, group, user, model, sinceMs, untilMs].some((by) => by !== undefined);
  if (records.length === 0) return printLine(isNarrowed ? 'No such requests.' : 'No requests yet.');
  printTable(requestsTable(records, isShared, look()));
  if (records.length === limit)
    printNote(`Only the latest ${limit === 1 ? 'is' : `${count(limit)} are`} shown; use --limit for more.`);
}

async function listRefused(options: ListOptions, command: Command, state: State): Promise<void> {
  const key = options.key === undefined ? undefined : await findKey(options.key, state, { withDeleted: true });
  const { user, model, since: sinceMs, until: untilMs, limit } = options;
  const query = { keyId: key?.id, user, sinceMs, untilMs };
  // The gateway does not filter by model, so all refusals are read and filtered here.
  const asked = await readRefusals(socketPathOf(state.config), {
    ...query,
    limit: model === undefined ? limit : MAX_LISTED,
  });
  const page = asked && { ...asked, rows: asked.rows.filter((row) => model === undefined || row.model === model) };
  if (page === undefined) {
    throw new UserError(
      `no gateway of this config is running here, and refused requests are kept only while one runs; \`${program()} keys show <key> --refusals\` counts them`,
    );
  }
  // The page may contain more rows of its last millisecond.
  const rows = page.rows.slice(0, limit);
  const names = new Map((await state.keys.list({ withDeleted: true })).map(({ id, name }) => [id, name]));
  const nameOf = (keyId: string) => names.get(keyId) ?? keyId;
  if (globalOptions(command).json) return printJson(rows.map((row) => refusedJson(row, nameOf)));
  const isNarrowed = [key, user, model, sinceMs, untilMs].some((by) => by !== undefined);
  if (rows.length === 0) printLine(isNarrowed ? 'No such requests.' : 'No request with a valid key was refused.');
  else printTable(refusedTable(rows, nameOf, look()));
  if (rows.length < page.rows.length || page.has_more)
    printNote(`Only the latest ${limit === 1 ? 'is' : `${count(limit)} are`} shown; use --limit for more.`);
  printNote(`Kept by the gateway since ${dateTime(page.since_ms)} (UTC), and lost when it stops.`);
}

/** Shows an admitted request, or one that the running gateway has refused. Throws a UserError otherwise. */
async function show(id: string, command: Command, state: State): Promise<void> {
  const request = await state.requests.find(id);
  if (request !== undefined) return printRequest(request, command, state);
  const refusal = await refusalOf(id, state.config);
  if (refusal === undefined) throw noSuchRequest(id);
  const key = await state.keys.find(refusal.key_id);
  const row = refusedJson(refusal, (keyId) => key?.name ?? keyId);
  if (globalOptions(command).json) return printJson(row);
  printFields(
    Object.entries(row).flatMap(([name, value]): Field[] => {
      if (value === null) return [];
      return [[name.replaceAll('_', ' '), name === 'outcome' ? marked(value, 'bad') : value]];
    }),
  );
}

export function refusedTable(rows: readonly Refusal[], nameOf: (keyId: string) => string, { room }: Look): Table {
  const isForPeople = room !== undefined;
  return {
    columns: [
      { head: 'REFUSED (UTC)' },
      { head: 'KEY', least: 10 },
      { head: 'MODEL', least: 11, rank: 3 },
      { head: 'CODE', least: 12 },
      { head: 'WHY', prose: true, least: 19, rank: 1 },
      { head: 'USER', least: 8, rank: 5 },
      { head: 'APP', least: 8, rank: 4 },
      { head: 'ID', rank: 2 },
    ],
    rows: rows.map((row) => [
      isForPeople ? shortTime(row.at_ms) : dateTime(row.at_ms),
      nameOf(row.key_id),
      row.model,
      marked(row.code, 'bad'),
      row.cause,
      row.user,
      row.app,
      row.id,
    ]),
  };
}

/** The JSON of a refused request, with the field names of an admitted one. */
function refusedJson(row: Refusal, nameOf: (keyId: string) => string) {
  return {
    id: row.id,
    key: nameOf(row.key_id),
    key_id: row.key_id,
    model: row.model === '' ? null : row.model,
    user: row.user || null,
    app: row.app || null,
    state: 'refused',
    outcome: row.code,
    reason: row.reason,
    message: row.cause,
    refused_at: isoTime(row.at_ms),
  };
}

export function requestsTable(records: readonly RequestRecord[], isShared: boolean, look: Look): Table {
  const hasFailures = records.some(({ end }) => end?.failure !== undefined);
  const isForPeople = look.room !== undefined;
  return {
    columns: [
      { head: isForPeople ? 'AT (UTC)' : 'ADMITTED (UTC)' },
      { head: 'KEY', least: 10 },
      { head: 'MODEL', least: 11 },
      ...(isShared ? [{ head: 'NODE', least: 8, rank: 7 }] : []),
      { head: 'OUTCOME', least: 10 },
      { head: 'MS', number: true, rank: 5 },
      { head: 'TOKENS IN', number: true, rank: 6 },
      { head: 'TOKENS OUT', number: true, rank: 6 },
      { head: 'COST (USD)', usd: true, rank: 1 },
      { head: 'SOURCE', rank: 8 },
      { head: 'ID', least: 12, rank: 2 },
      ...(hasFailures ? [{ head: 'FAILURE', prose: true as const, least: 24, rank: 4 }] : []),
    ],
    rows: records.map((request) => [
      isForPeople ? shortTime(request.admittedAtMs) : dateTime(request.admittedAtMs),
      request.key,
      request.model,
      ...(isShared ? [request.node ?? '-'] : []),
      outcomeCell(request.end?.outcome),
      count(durationOf(request) ?? 0),
      count(request.end?.promptTokens ?? 0),
      count(request.end?.completionTokens ?? 0),
      exactUsd(request.end?.costNanos ?? 0n),
      request.end?.source ?? '',
      request.id,
      request.end?.failure?.message ?? '',
    ]),
  };
}

/** `11-22 12:00`: without the year and the seconds. */
function shortTime(wallMs: number): string {
  return dateTime(wallMs).slice(5, 16);
}

function outcomeCell(outcome: Outcome | undefined): Cell {
  if (outcome === undefined) return '';
  if (isErrorOutcome(outcome)) return marked(outcome, 'bad');
  return marked(outcome, outcome === 'ok' ? 'good' : 'warn');
}

/**
 * Stops the request through the gateway of this config. With PostgreSQL, another gateway may have it, and is asked through
 * the database.
 */
async function stop(id: string, command: Command, { config, nodes }: State): Promise<void> {
  const isStopped = await stopRequest(socketPathOf(config), id);
  if (!isStopped && !(await nodes?.stopRequest(id))) {
    throw new UserError(`no request in flight has the id ${JSON.stringify(redactKeys(id))}; it may have ended`);
  }
  if (globalOptions(command).json) printJson({ id, stopped: true });
  else printLine(isStopped ? `Stopped ${id}.` : `The gateway that has ${id} will stop it within seconds.`);
}

function correctedOrThrow(correction: Correction, id: string): RequestRecord {
  switch (correction.kind) {
    case 'done':
      return correction.request;
    case 'no_such_request':
      throw noSuchRequest(id);
    case 'in_flight':
      throw new UserError(`request ${id} is in flight; it is charged when it ends`);
    case 'not_held':
      throw new UserError(
        `request ${id} was charged as ${correction.source}; only one that was charged as held can be corrected`,
      );
  }
}

/** Undefined if the running gateway has not refused this request. */
export async function refusalOf(id: string, config: State['config']): Promise<Refusal | undefined> {
  return (await readRefusals(socketPathOf(config), { id: requestIdOf(id), limit: 1 }))?.rows[0];
}

export function noSuchRequest(id: string): UserError {
  return new UserError(
    `no such request: ${JSON.stringify(redactKeys(id))}; it may have been refused by a gateway that has stopped since, be older than journal_retention, or be misspelled; list requests with \`${program()} requests\``,
  );
}

/** The JSON of a request. While it is in flight, fields about its end are null. */
function requestJson(request: RequestRecord, isShared: boolean) {
  const { end, holdNanos } = request;
  return {
    id: request.id,
    completion_id: end?.completionId ?? null,
    key: request.key,
    key_id: request.keyId,
    model: request.model,
    requested_model: request.requestedModel,
    ...aliasJson(request.price),
    ...(isShared && { node: request.node ?? null }),
    user: end?.spentBy?.user || null,
    tag: end?.spentBy?.tag || null,
    app: end?.spentBy?.app || null,
    upstream: end?.upstream ?? null,
    attempts: end?.attempts ?? null,
    state: end === undefined ? 'in_flight' : 'ended',
    outcome: end?.outcome ?? null,
    source: end?.source ?? null,
    admitted_at: isoTime(request.admittedAtMs),
    settled_at: end === undefined ? null : isoTime(end.settledAtMs),
    first_byte_ms: end?.firstByteMs ?? null,
    duration_ms: durationOf(request) ?? null,
    prompt_tokens: end?.promptTokens ?? null,
    cached_tokens: end?.cachedTokens ?? null,
    cache_write_tokens: end?.cacheWriteTokens ?? null,
    completion_tokens: end?.completionTokens ?? null,
    total_tokens: end === undefined ? null : end.promptTokens + end.completionTokens,
    cost_usd: end === undefined ? null : formatUsd(end.costNanos),
    held_usd: formatUsd(holdNanos),
    price: priceJson(request.price),
    failure: failureJson(end?.failure),
    corrected_at: end?.correctedAtMs === undefined ? null : isoTime(end.correctedAtMs),
  };
}

/** A request as a row of CSV: the fields of its JSON, with the failure in two columns and without the price. */
function flatRequest(request: RequestRecord, isShared: boolean): Readonly<Record<string, string | number | null>> {
  const { price: _, failure, alias: __, ...fields } = { alias: undefined, ...requestJson(request, isShared) };
  return { ...fields, failure_reason: failure?.reason ?? null, failure_message: failure?.message ?? null };
}

/** The alias by which the client requested the model. */
function aliasJson(price: string | undefined) {
  const alias = price === undefined ? undefined : readPriceText(price)?.alias;
  return alias === undefined ? {} : { alias };
}

/** Amounts are USD per million tokens, or per call of a tool. */
function priceJson(text: string | undefined) {
  const price = text === undefined ? undefined : readPriceText(text);
  if (price === undefined) return null;
  return {
    input_usd: formatUsd(price.input),
    cached_input_usd: formatUsd(price.cachedInput),
    output_usd: formatUsd(price.output),
    extras_usd: Object.fromEntries(price.extras.map(([name, usd]) => [name, formatUsd(usd)])),
    service_tier: price.tier ?? null,
    above_tokens: price.above ?? null,
    price_file: price.of ?? null,
  };
}

function failureJson(failure: Failure | undefined) {
  return failure === undefined ? null : { ...failure, status: failure.status ?? null };
}

function printRequest(request: RequestRecord, command: Command, { nodes }: State): void {
  const isShared = nodes !== undefined;
  if (globalOptions(command).json) return printJson(requestJson(request, isShared));
  printFields(requestFields(request, isShared));
}
