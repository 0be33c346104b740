/** `explain`: shows how the gateway would handle a request body, or how it handled a request. */

import { existsSync, readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { explainBody } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { UserError } from '../core/errors.ts';
import {
  type ExplainedStep,
  type ExplainQuestion,
  type Explanation,
  NOT_CHECKED,
  NOT_REACHED,
} from '../core/explanation.ts';
import { counted } from '../core/plural.ts';
import { program } from '../core/program.ts';
import { shellWord } from '../core/shell-word.ts';
import type { UpstreamState } from '../observe/worker-snapshot.ts';
import { UPSTREAM_STATES } from '../operator/messages.ts';
import { type Field, marked } from '../operator/table.ts';
import type { KeyRecord } from '../state/keys.ts';
import { parseWith } from './arguments.ts';
import { explainPast, explainRefused } from './explain-past.ts';
import { remedyFor } from './explain-remedy.ts';
import { findKey } from './key-view.ts';
import { notice, printFields, printJson, printLine, printText } from './output.ts';
import { noteRefused } from './owner.ts';
import { noSuchRequest, refusalOf } from './requests.ts';
import { globalOptions, type State, withState } from './state.ts';
import { readUser } from './users.ts';

/** The number of keys that an error names. */
const MOST_NAMED = 3;

interface ExplainOptions {
  readonly key?: string;
  readonly path?: string;
  readonly user?: string;
}

export function registerExplain(program: Command): void {
  program
    .command('explain')
    .description('show what would happen to a request body and why, or what did happen to a request')
    .argument('[file]', 'a file with the body (default: standard input), or the id of a request')
    .option('--key <key>', 'the key that would send it (id or name; default: the only one)')
    .option('--path <path>', 'where it would be sent to, such as /v1/messages (default: by what is in it)')
    .option('--user <name>', 'the end user whom the header X-Inf-Gw-User would name', parseWith(readUser))
    .addHelpText(
      'after',
      `
Nothing is sent and nothing is taken: no hold, no place in a window. The checks are those of the
gateway, in its order. A running gateway answers, by its own counters and circuits; without one, the
answer is that of a gateway that starts now.

Without --path, a body with \`messages\` goes to chat completions, or to messages if it has \`system\`,
\`thinking\` or another field of that API. One with \`input\` goes to responses, to embeddings if it has
\`dimensions\` or \`encoding_format\`, or to speech if it has a \`voice\`; one with \`query\` and
\`documents\` to rerank; one with a \`prompt\` to images. Moderations, forms and Google's format need
--path; for Google's format it includes the model.

Examples:
  inf-gw explain body.json --key my-app
  echo '{"model":"mock/echo","messages":[]}' | inf-gw explain --json
  inf-gw explain body.json --key my-app --user zoe
  inf-gw explain body.json --path /v1beta/models/mock/echo:generateContent
  inf-gw explain req_06fb…`,
    )
    .action((file: string | undefined, options: ExplainOptions, command: Command) => {
      if (options.key === undefined && file === undefined && process.stdin.isTTY) refuseNothing(command);
      return withState(command, (state) => explain(file, options, command, state));
    });
}

async function explain(
  file: string | undefined,
  { key: idOrName, path, user }: ExplainOptions,
  command: Command,
  state: State,
): Promise<void> {
  if (idOrName === undefined && file !== undefined && !existsSync(file)) {
    return print(await explainedId(file, state), command);
  }
  const body = await readBody(file);
  if (idOrName === undefined && file === undefined && body.length === 0) refuseNothing(command);
  const key = idOrName === undefined ? await onlyKey(state) : await findKey(idOrName, state, { withDeleted: true });
  const question: ExplainQuestion = { keyId: key.id, path, user, body };
  const live = await explainBody(socketPathOf(state.config), question);
  const shown = live === undefined ? await explainedHere(state, key, question) : { ...live, live: true };
  print(shown, command, key.name);
  // The client of an expired key only sees that the key is invalid.
  if (shown.code === 'invalid_api_key' && key.state !== 'deleted') await noteRefused(key, state);
}

/** Explains an admitted request from the journal, or a refused one from the gateway that refused it. */
async function explainedId(id: string, { requests, keys, config }: State): Promise<Explanation> {
  const request = await requests.find(id);
  if (request !== undefined) return explainPast(request);
  const refusal = await refusalOf(id, config);
  if (refusal === undefined) throw noSuchRequest(id);
  return explainRefused(refusal, (await keys.findWithDeleted(refusal.key_id))?.name ?? refusal.key_id);
}

/** The explanation of a gateway that starts now. */
async function explainedHere(state: State, key: KeyRecord, question: ExplainQuestion): Promise<Shown> {
  // Not needed where a gateway runs, and slow to load.
  const { explainHere } = await import('../gateway/explain.ts');
  const { explanation, interrupted } = await explainHere(state.config, state, key, question);
  notice('No gateway of this config is running here: this is what one that starts now would do.');
  if (interrupted > 0)
    notice(`${counted(interrupted, 'request')} left open by a crash: the next start charges the holds.`);
  return { ...explanation, live: false };
}

function refuseNothing(command: Command): never {
  command.error('error: give a file or pipe a body, with --key to say who sends it, or give the id of a request');
}

/** The only key of the installation. Throws a UserError that names some keys if there are several. */
async function onlyKey({ keys }: State): Promise<KeyRecord> {
  const [first, ...others] = await keys.list({ withDeleted: false, limit: MOST_NAMED });
  if (first !== undefined && others.length === 0) return first;
  const names = [first, ...others].flatMap((key) => (key === undefined ? [] : [key.name]));
  throw new UserError(
    names.length === 0
      ? `there is no key that could send it; create one with \`${program()} keys create\``
      : `say with --key which key would send it, such as --key ${names.map(shellWord).join(' or --key ')}`,
  );
}

/** A script may have inherited an open standard input without a writer. */
const SILENT_PIPE_MS = 1_000;

async function readPipe(): Promise<Uint8Array> {
  const say = () =>
    notice('note: reading the body from standard input, up to its end; name a file to read that instead');
  const timer = setTimeout(say, SILENT_PIPE_MS);
  try {
    return await buffer(process.stdin);
  } finally {
    clearTimeout(timer);
  }
}

async function readBody(file: string | undefined): Promise<Uint8Array> {
  if (file === undefined) return readPipe();
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new UserError(`cannot read ${file} (${code}); with --key, explain takes a file with the body of a request`);
  }
}

interface Shown extends Explanation {
  /** Whether a running gateway answered. Absent for a past request. */
  readonly live?: boolean;
}

/** Prints an explanation. `key`: the name of the key that would send the request. */
function print(shown: Shown, command: Command, key?: string): void {
  const { status, code, message, steps, ...rest } = shown;
  if (globalOptions(command).json) return printJson({ status, code, message, ...rest, steps });
  const isRefused = code !== null;
  const tone = isRefused ? 'bad' : status === null ? 'bold' : 'good';
  printLine([status, code].filter((part) => part !== null).join(' ') || 'in flight', tone);
  const said = forOperator(message);
  printText(key !== undefined && isRefused ? `${key}: ${said}` : said, { style: tone });
  const remedy = key === undefined ? undefined : (activationFor(shown) ?? commandFor(shown, key));
  if (remedy !== undefined) printText(`To let it through: ${remedy}`, { style: 'bold' });
  printLine();
  printFields(steps.flatMap(fieldsOf));
}

/** Adds the operator's `--config` to commands in a message, which the gateway composed for clients. */
function forOperator(message: string): string {
  return message.replace(': inf-gw ', `: ${program()} `);
}

function commandFor(shown: Shown, key: string): string | undefined {
  const words = remedyFor(shown, key);
  return words && program(...words);
}

/** The remedy for a model whose provider is inactive. */
function activationFor({ steps, live }: Shown): string | undefined {
  const variable = steps.find(({ status }) => status === 'refused')?.missing_variable;
  if (variable === undefined) return undefined;
  const reload = live === true ? `, then ${program('reload')}` : '';
  return `set ${variable} in the file .env next to the config${reload}`;
}

function fieldsOf({ step, status, message, candidates }: ExplainedStep): Field[] {
  const name = step.replaceAll('_', ' ');
  const others = Array.isArray(candidates) ? (candidates as readonly Candidate[]).flatMap(candidateFields) : [];
  switch (status) {
    case 'ok':
      return [[name, message], ...others];
    case 'refused':
      return [[name, marked(`refused: ${forOperator(message)}`, 'bad')], ...others];
    case 'skipped':
      return [[name, message === NOT_REACHED ? message : `${NOT_CHECKED}: ${message}`]];
  }
}

interface Candidate {
  readonly model: string;
  readonly upstreams: readonly { readonly name: string; readonly state: UpstreamState; readonly is_next: boolean }[];
}

function candidateFields({ model, upstreams }: Candidate): Field[] {
  return upstreams.map(({ name, state, is_next: isNext }) => [
    '',
    `${isNext ? '1st' : 'or'}: ${model} at ${name}, ${UPSTREAM_STATES[state]}`,
  ]);
}
