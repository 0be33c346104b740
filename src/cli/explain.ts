/** `explain`: what would happen to a body and why, or what did happen to a request. */
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { explainBody } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { UserError } from '../core/errors.ts';
import { type ExplainedStep, type ExplainQuestion, type Explanation, NOT_REACHED } from '../core/explanation.ts';
import { counted } from '../core/plural.ts';
import type { UpstreamState } from '../observe/worker-snapshot.ts';
import { UPSTREAM_STATES } from '../operator/messages.ts';
import { type Field, marked } from '../operator/table.ts';
import { explainPast } from './explain-past.ts';
import { findKey } from './key-view.ts';
import { printFields, printJson, printLine, printNote, remark } from './output.ts';
import { requestOrThrow } from './requests.ts';
import { globalOptions, type State, withState } from './state.ts';

const PATHS = ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'];

interface ExplainOptions {
  readonly key?: string;
  readonly path?: string;
}

export function registerExplain(program: Command): void {
  program
    .command('explain')
    .description('show what would happen to a request body and why, or what did happen to a request')
    .argument('[file]', 'with --key a file with the body (standard input without it), else the id of a request')
    .option('--key <key>', 'the key that would send it (id or name)')
    .addOption(new Option('--path <path>', 'where it would be sent to (default: by what is in it)').choices(PATHS))
    .addHelpText(
      'after',
      `
Nothing is sent and nothing is taken: no hold, no place in a window. The checks are those of the
gateway, in its order. A running gateway is asked, and its counters and circuits count; without one,
those that it would start with.

Without --path, a body with \`messages\` is one of chat completions, unless it has \`system\`,
\`thinking\`, \`stop_sequences\`, \`top_k\` or tools with an \`input_schema\`: then it is one of messages.
One with \`input\` is one of responses, or of embeddings if it has \`dimensions\` or \`encoding_format\`.

Examples:
  inf-gw explain body.json --key my-app
  echo '{"model":"mock/echo","messages":[]}' | inf-gw explain --key my-app --json
  inf-gw explain req_06fb…`,
    )
    .action((file: string | undefined, options: ExplainOptions, command: Command) => {
      if (options.key === undefined && file === undefined) {
        command.error('error: name a key with --key, or the id of a request that was admitted');
      }
      return withState(command, (state) => explain(file, options, command, state));
    });
}

async function explain(
  file: string | undefined,
  { key: idOrName, path }: ExplainOptions,
  command: Command,
  state: State,
): Promise<void> {
  if (idOrName === undefined) return print(explainPast(await requestOrThrow(file as string, state)), command);
  const key = await findKey(idOrName, state, { withDeleted: true });
  const question: ExplainQuestion = { keyId: key.id, path, body: await readBody(file) };
  const live = await explainBody(socketPathOf(state.config), question);
  if (live !== undefined) return print({ ...live, live: true }, command);
  // Loaded here: where a gateway runs, nobody needs it.
  const { explainHere } = await import('../gateway/explain.ts');
  const { explanation, interrupted } = await explainHere(state.config, state, key, question);
  remark('No gateway of this config is running here: this is what one that starts now would do.');
  if (interrupted > 0)
    remark(`${counted(interrupted, 'request')} left open by a crash: the next start charges the holds.`);
  print({ ...explanation, live: false }, command);
}

async function readBody(file: string | undefined): Promise<Uint8Array> {
  if (file === undefined) return buffer(process.stdin);
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new UserError(`cannot read ${file} (${code}); with --key, explain takes a file with the body of a request`);
  }
}

interface Shown extends Explanation {
  /** Whether a running gateway was asked. Absent for a request of the past. */
  readonly live?: boolean;
}

function print({ status, code, message, steps, ...rest }: Shown, command: Command): void {
  if (globalOptions(command).json) return printJson({ status, code, message, ...rest, steps });
  printLine([status, code].filter((part) => part !== null).join(' ') || 'in flight', 'bold');
  printNote(message);
  printLine();
  printFields(steps.flatMap(fieldsOf));
}

function fieldsOf({ step, status, message, candidates }: ExplainedStep): Field[] {
  const name = step.replaceAll('_', ' ');
  const others = Array.isArray(candidates) ? (candidates as readonly Candidate[]).flatMap(candidateFields) : [];
  switch (status) {
    case 'ok':
      return [[name, message], ...others];
    case 'refused':
      return [[name, marked(`refused: ${message}`, 'bad')], ...others];
    case 'skipped':
      return [[name, message === NOT_REACHED ? message : `${NOT_REACHED}: ${message}`]];
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
