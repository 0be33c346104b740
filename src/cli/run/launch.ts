/** Configures a client for the gateway and a model, and reports the choice. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { UserError } from '../../core/errors.ts';
import { Likenesses } from '../../core/likeness.ts';
import { program } from '../../core/program.ts';
import { chooseModels, type ModelChoice, type Offer } from '../clients/choice.ts';
import { type Client, type ClientFile, contextNote, type Setup } from '../clients/clients.ts';
import { listedOffers, offerNamed } from '../clients/offers.ts';
import { notice } from '../output.ts';
import type { Desk } from './desk.ts';

/** The number of models that an error suggests. */
const MOST_LIKE = 3;

/**
 * Chooses the models of a client: the requested one, else the one in its variable, else by preference. Reports the choice.
 * Throws a UserError if the requested model cannot be called.
 */
export async function setUpFor(
  client: Client,
  { url, config }: Pick<Desk, 'url' | 'config'>,
  key: string,
  { model, environment }: { readonly model: string | undefined; readonly environment: NodeJS.ProcessEnv },
): Promise<Setup> {
  const own = environment[client.modelVariable ?? ''] || undefined;
  const wanted = model ?? own;
  let offers: readonly Offer[];
  try {
    const listed = await listedOffers({ url, key, config });
    const isListed = wanted === undefined || listed.some(({ id }) => id === wanted);
    const named = isListed ? undefined : await offerNamed({ url, key, config }, wanted, client.dialect);
    offers = named === undefined ? listed : [...listed, named];
  } catch (error) {
    const why = `the gateway at ${url} cannot be asked for its models: ${reasonOf(error)}`;
    if (model !== undefined) throw new UserError(`--model ${model}: ${why}`);
    notice(`note: ${client.title} is told no model, since ${why}`);
    return { url, key, models: undefined };
  }
  const models = choiceFor(client, offers, model, own);
  notice(models === undefined ? nothingFor(client) : chosen(client, models, model));
  const note = models && contextNote(client, models);
  if (note !== undefined) notice(note);
  return { url, key, models };
}

/**
 * Throws a UserError if the provider of the chosen model refuses the gateway's key: agents retry this for minutes, like an
 * outage. The check sends a request without cost. Without a result in time, the command starts.
 */
export async function checkProviderOf({ main }: ModelChoice, desk: Pick<Desk, 'keyRefusal'>): Promise<void> {
  const refused = await desk.keyRefusal(main.provider);
  if (refused === undefined) return;
  const { name, message, fix } = refused;
  throw new UserError(`${name} of ${main.id} ${message}: ${fix}; the command was not started`);
}

/** `own`: the user's environment. */
function choiceFor(client: Client, offers: readonly Offer[], model: string | undefined, own: string | undefined) {
  const { dialect, title } = client;
  const named = chooseModels(offers, client, model ?? own);
  if (named !== undefined) return named;
  if (model === undefined) {
    if (own !== undefined)
      notice(`note: ${client.modelVariable}=${own} is not taken: ${title} cannot call it with this key`);
    return chooseModels(offers, client);
  }
  const speaking = offers.filter(({ dialects }) => dialects.includes(dialect));
  const like = new Likenesses(speaking).mostAlike(model, new Set(speaking), MOST_LIKE).map(({ id }) => id);
  const hint = like.length === 0 ? `\`${program()} models\` lists the models` : `names like it: ${like.join(', ')}`;
  throw new UserError(`--model ${model}: ${title} cannot call it with this key; ${hint}`);
}

function nothingFor({ title, dialect }: Client): string {
  return `note: ${title} is told no model, since its key can call none in its format (${dialect})`;
}

function chosen({ title, usesSmall }: Client, { main, small }: ModelChoice, model: string | undefined): string {
  const both = small.id === main.id || !usesSmall ? main.id : `${main.id}, and ${small.id} for small tasks`;
  return `${title} is told to use ${both}${model === undefined ? '; --model chooses another' : ''}`;
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

/** Writes the configuration file of a client. Returns its variables, and a function that removes it. Throws a UserError. */
export function writeFileOf(
  client: Client,
  setup: Setup,
  environment: NodeJS.ProcessEnv,
): { readonly variables: NodeJS.ProcessEnv; remove(): void } {
  const file = client.file?.(setup);
  if (file === undefined) return { variables: {}, remove: () => {} };
  try {
    const folder = mkdtempSync(join(tmpdir(), 'inf-gw-run-'));
    const path = join(folder, file.name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.text, { mode: 0o600 });
    return {
      variables: { [file.variable]: file.variableNames === 'file' ? path : folder, ...keptOf(file, environment) },
      remove: () => rmSync(folder, { recursive: true, force: true }),
    };
  } catch (error) {
    throw new UserError(`cannot write ${file.name} for ${client.title}: ${reasonOf(error)}`);
  }
}

/** The variable for the user's other files, which the client would look for in the new folder. */
function keptOf({ variable, kept }: ClientFile, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (kept === undefined) return {};
  return { [kept.variable]: environment[kept.variable] || join(environment[variable] || homedir(), kept.name) };
}
