/**
 * Runs the matrix of failures and traffic full of secrets through a real gateway, and searches
 * everything for them.
 */
import { fileURLToPath } from 'node:url';
import { Site } from '../faults/site.ts';
import type { Cell } from '../faults/table.ts';
import { play } from '../faults/trial.ts';
import { CHANGEABLE_PROGRAM, inParallel, type NewKeyJson, PROGRAM, runNode } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { RawConnection } from '../support/raw.ts';
import type { Scope } from '../support/run-scope.ts';
import { allSecrets, MISTYPED_KEY, OPERATORS, secretsBeforeClients } from './canaries.ts';
import { searchedPlaces } from './places.ts';
import { Scanner } from './scan.ts';
import { requestOf, TRAFFIC, type Traffic } from './traffic.ts';

const EXPOSING = fileURLToPath(new URL('./exposing.ts', import.meta.url));
const AT_ONCE = 24;
const OWN_FILES = ['config.yaml', 'upstream-key', 'header', 'path'];

export interface Search {
  /** The secrets that were found, by place. Includes places without any. */
  readonly found: ReadonlyMap<string, readonly string[]>;
  readonly bytes: number;
  readonly requests: number;
}

/** Searches the program as it is, or an `exposed` one that leaks secrets. */
export async function search(scope: Scope, cells: readonly Cell[], program: 'as it is' | 'exposed'): Promise<Search> {
  const upstream = await FakeUpstream.start();
  scope.after(() => upstream.close());
  const words = program === 'exposed' ? ['--import', EXPOSING, CHANGEABLE_PROGRAM] : [PROGRAM];
  const site = await Site.open(scope, cells, {
    program: words,
    environment: { UPSTREAM_KEY: OPERATORS['upstream key'] },
    files: {
      'upstream-key': OPERATORS['upstream key of a file'],
      header: OPERATORS['configured header'],
      path: OPERATORS['path of the base URL'],
    },
    config: { log: { level: 'trace' } },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of the config.
    provider: { api_key: '${UPSTREAM_KEY}', headers: { 'X-Operator': '${file:./header}' } },
    providers: repeatingProviders(upstream.port),
  });
  const { workplace, serving } = site;
  const environment = { ...workplace.environment };
  const made = await runNode([...words, 'keys', 'create', 'app', '--json'], {
    directory: workplace.directory,
    environment,
  });
  const { key } = JSON.parse(made.stdout) as NewKeyJson;

  await inParallel(site.places, (place) => play(site, place), AT_ONCE);
  const answers = [...site.answers, ...(await exchange(site, key, upstream)), ...(await misuse(site, key))];
  const found = new Map<string, readonly string[]>();
  const clients = Buffer.from(answers.join('\n'));
  found.set('answers', new Scanner(secretsBeforeClients(key)).find(clients));
  const scanner = new Scanner(allSecrets(key));
  let bytes = clients.length;
  for (const [place, content] of await searchedPlaces(workplace, serving, OWN_FILES)) {
    found.set(place, scanner.find(content));
    bytes += content.length;
  }
  await serving.stop();
  found.set('log at the end', scanner.find(Buffer.from(serving.text + serving.output)));
  return { found, bytes, requests: answers.length };
}

/** A provider of its own for each answer. */
function repeatingProviders(port: number): Record<string, unknown> {
  const models = (number: number) => ({ model: { upstream: `${number}`, input: 1, output: 2 } });
  const providers = TRAFFIC.map(({ hasKeyOfFile }, number) => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of the config.
    const path = 'relay/${file:./path}/v1';
    const base_url = `http://127.0.0.1:${port}/${path}?api-version=${OPERATORS['query of the base URL']}`;
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of the config.
    const api_key = hasKeyOfFile ? '${file:./upstream-key}' : '${UPSTREAM_KEY}';
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of the config.
    const headers = { 'X-Operator': '${file:./header}' };
    return [`repeating-${number}`, { kind: 'openai', base_url, api_key, headers, models: models(number) }];
  });
  return Object.fromEntries(providers);
}

/** Sends a request for each answer full of secrets. Returns what the clients receive. */
async function exchange(site: Site, key: string, upstream: FakeUpstream): Promise<string[]> {
  upstream.follow((call) => {
    const number = Number(JSON.parse(call.body).model);
    return (TRAFFIC[number] as Traffic).answer(call);
  });
  return inParallel([...TRAFFIC.entries()], async ([number, { stream }]) => {
    const response = await site.serving.chat(key, requestOf(`repeating-${number}/model`, { stream }));
    return `${JSON.stringify([...response.headers])}${await response.text()}`;
  });
}

/** Sends requests that fail, with secrets where they do not belong. */
async function misuse(site: Site, key: string): Promise<string[]> {
  const valid = requestOf('repeating-0/model', { stream: false });
  const responses = [
    await site.serving.chat(MISTYPED_KEY, valid),
    await site.serving.chat(`${key} `, valid),
    await site.serving.chat(key, { ...valid, model: 'nobody/knows' }),
    await site.serving.chat(key, { ...valid, temperature: 99 }),
    await fetch(`${site.serving.url}/v1/models?api_key=${key}`),
    await fetch(`${site.serving.url}/v1/chat/completions`, { headers: { 'x-api-key': key, cookie: `key=${key}` } }),
  ];
  const connection = await RawConnection.sending(
    site.port,
    `POST /v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer ${key}\r\n bad line\r\n\r\n`,
  );
  const raw = await connection.answer();
  connection.leave();
  return [...(await Promise.all(responses.map((response) => response.text()))), raw.body];
}

/** The kinds of places where a leaking program leaves secrets. */
const KINDS_OF_PLACES = [
  'answers',
  'control socket',
  'inf-gw keys list',
  'inf-gw requests',
  'inf-gw status',
  'command line',
  'file state.db',
  'log',
  'stdout',
];

/** The secrets that a search has missed, and the kinds of places in which it found none. */
export function notFound(found: Search['found']): string[] {
  const names = new Set([...found.values()].flat());
  const places = [...found].filter(([, secrets]) => secrets.length > 0).map(([place]) => place);
  return [
    ...Object.keys(allSecrets('')).filter((name) => !names.has(name)),
    ...KINDS_OF_PLACES.filter((kind) => !places.some((place) => place.startsWith(kind))),
  ];
}
