/** `requests`: lists single requests, tells all about one, and corrects what one was charged that a crash left open. */
import type { Command } from 'commander';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import { readAmount, readCount } from '../operator/input.ts';
import type { Correction, RequestEnd, RequestRecord } from '../state/requests.ts';
import { moment, taking } from './arguments.ts';
import { existing } from './key-view.ts';
import { count, dim, printFields, printJson, printLine, printTable, usd } from './output.ts';
import { globalOptions, type State, withState } from './state.ts';

const MAX_LISTED = 100_000;
const DEFAULT_LISTED = 50;

interface ListOptions {
  readonly key?: string;
  readonly since?: number;
  readonly errors?: true;
  readonly limit: number;
}

export function registerRequests(program: Command): void {
  const requests = program.command('requests').description('single requests that were admitted');

  requests
    .command('list', { isDefault: true })
    .description('list requests that have ended, the latest first')
    .option('--key <key>', 'of this key only: id or name')
    .option('--since <time>', 'admitted from then on: a date, a time, or 7d, 12h', moment(Date.now()))
    .option('--errors', 'only those that ended in an error')
    .option('--limit <n>', 'so many at most', taking(readCount(MAX_LISTED)), DEFAULT_LISTED)
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw requests\n  inf-gw requests --errors --since 1h\n  inf-gw requests --key my-app --limit 500 --json',
    )
    .action((options: ListOptions, command: Command) => withState(command, (state) => list(options, command, state)));

  requests
    .command('show')
    .description('tell all about one request')
    .argument('<id>', 'the X-Request-Id of its response, or the id of its completion')
    .addHelpText('after', '\nExamples:\n  inf-gw requests show req_06fb…\n  inf-gw requests show chatcmpl-9xK…')
    .action((id: string, _: unknown, command: Command) =>
      withState(command, (state) => {
        const request = state.requests.find(id);
        if (request === undefined) throw noSuchRequest(id);
        print(request, command);
      }),
    );

  requests
    .command('settle')
    .description('correct what a request was charged that a crash had left open (its source is `held`)')
    .argument('<id>', 'the id of the request')
    .requiredOption('--cost <usd>', 'what it did cost, as the provider’s bill says', taking(readAmount))
    .addHelpText('after', '\nExample:\n  inf-gw requests settle req_06fb… --cost 0.0123')
    .action((id: string, { cost }: { cost: Nanos }, command: Command) =>
      withState(command, (state) => print(corrected(state.requests.correct(id, cost, state.nowMs), id), command)),
    );
}

function list(options: ListOptions, command: Command, state: State): void {
  const key = options.key === undefined ? undefined : existing(state.keys.findWithDeleted(options.key), options.key);
  const { since: sinceMs, errors = false, limit } = options;
  const records = state.requests.list({ keyId: key?.id, sinceMs, errors, limit });
  if (globalOptions(command).json) return printJson(records.map(requestJson));
  if (records.length === 0) return printLine('There are no such requests.');
  printTable(
    [
      { head: 'ADMITTED (UTC)' },
      { head: 'KEY' },
      { head: 'MODEL', rank: 1 },
      { head: 'END' },
      { head: 'MS', number: true, rank: 3 },
      { head: 'TOKENS IN', number: true, rank: 2 },
      { head: 'TOKENS OUT', number: true, rank: 2 },
      { head: 'COST (USD)', usd: true },
      { head: 'SOURCE', rank: 4 },
      { head: 'ID' },
    ],
    records.map((request) => [
      isoTime(request.admittedAtMs).replace('T', ' ').slice(0, 19),
      request.key,
      request.model,
      request.end?.outcome ?? '',
      count(durationOf(request) ?? 0),
      count(request.end?.promptTokens ?? 0),
      count(request.end?.completionTokens ?? 0),
      formatUsd(request.end?.costNanos ?? 0n),
      request.end?.source ?? '',
      request.id,
    ]),
  );
  if (records.length === limit) printLine(dim(`The latest ${count(limit)}; --limit shows more.`));
}

function corrected(correction: Correction, id: string): RequestRecord {
  switch (correction.kind) {
    case 'done':
      return correction.request;
    case 'no_such_request':
      throw noSuchRequest(id);
    case 'in_flight':
      throw new UserError(`the request ${id} is under way; it will be charged when it ends`);
    case 'not_held':
      throw new UserError(
        `the request ${id} was charged with what was ${correction.source}; only one that a crash left open can be corrected`,
      );
  }
}

function noSuchRequest(id: string): UserError {
  return new UserError(
    `there is no request ${JSON.stringify(id)}: it was refused, is older than journal_retention, or is misspelt; \`${PROGRAM} requests\` lists those there are`,
  );
}

function durationOf({ admittedAtMs, end }: RequestRecord): number | undefined {
  return end && Math.max(0, end.settledAtMs - admittedAtMs);
}

/** The JSON shape of a request. Of one that is under way the end is null, field by field. */
function requestJson(request: RequestRecord) {
  const { end, holdNanos } = request;
  return {
    id: request.id,
    completion_id: end?.completionId ?? null,
    key: request.key,
    key_id: request.keyId,
    model: request.model,
    requested_model: request.requestedModel,
    upstream: end?.upstream ?? null,
    attempts: end?.attempts ?? null,
    state: end === undefined ? 'under_way' : 'ended',
    outcome: end?.outcome ?? null,
    source: end?.source ?? null,
    admitted_at: isoTime(request.admittedAtMs),
    settled_at: end === undefined ? null : isoTime(end.settledAtMs),
    first_byte_ms: end?.firstByteMs ?? null,
    duration_ms: durationOf(request) ?? null,
    prompt_tokens: end?.promptTokens ?? null,
    cached_tokens: end?.cachedTokens ?? null,
    completion_tokens: end?.completionTokens ?? null,
    total_tokens: end === undefined ? null : end.promptTokens + end.completionTokens,
    cost_usd: end === undefined ? null : formatUsd(end.costNanos),
    held_usd: holdNanos === undefined ? null : formatUsd(holdNanos),
    corrected_at: end?.correctedAtMs === undefined ? null : isoTime(end.correctedAtMs),
  };
}

function print(request: RequestRecord, command: Command): void {
  if (globalOptions(command).json) return printJson(requestJson(request));
  const { end, holdNanos } = request;
  printFields([
    ['request', request.id],
    ['key', `${request.key} (${request.keyId})`],
    ['model', modelOf(request)],
    ['admitted', isoTime(request.admittedAtMs)],
    ['held', holdNanos === undefined ? 'not known' : usd(holdNanos)],
    ...(end === undefined ? [['state', 'under way'] as const] : endFields(request)),
  ]);
}

const SOURCES = {
  reported: 'as the provider reported',
  counted: 'counted by the gateway',
  held: 'as held: the gateway ended before the request did',
} as const;

function upstreamOf({ upstream, attempts = 1 }: RequestEnd): string {
  if (upstream === undefined) return '-';
  return attempts === 1 ? upstream : `${upstream}, after ${count(attempts)} attempts`;
}

function modelOf({ model, requestedModel }: RequestRecord): string {
  return model === requestedModel ? model : `${model}, which stood in for ${requestedModel}`;
}

function endFields(request: RequestRecord): (readonly [string, string])[] {
  const { end } = request;
  if (end === undefined) return [];
  const cached = end.cachedTokens === 0 ? '' : ` (${count(end.cachedTokens)} cached)`;
  const correction = end.correctedAtMs === undefined ? '' : `, corrected by hand at ${isoTime(end.correctedAtMs)}`;
  return [
    ['ended', `${isoTime(end.settledAtMs)}, after ${count(durationOf(request) ?? 0)} ms`],
    ['upstream', upstreamOf(end)],
    ['first byte', end.firstByteMs === undefined ? '-' : `after ${count(end.firstByteMs)} ms`],
    ['end', end.outcome],
    ['completion', end.completionId ?? '-'],
    ['tokens', `${count(end.promptTokens)} in${cached}, ${count(end.completionTokens)} out; ${SOURCES[end.source]}`],
    ['cost', `${usd(end.costNanos)}${correction}`],
  ];
}
