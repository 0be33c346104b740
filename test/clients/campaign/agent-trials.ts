/** Tries an agent: one command for each thing that is asked of it, and what passed to the gateway meanwhile. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { clientOf } from '../../../src/cli/clients/clients.ts';
import type { Agent } from './agents.ts';
import { FEATURES, type Feature, type Findings, YES } from './features.ts';
import type { Passed, Site } from './site.ts';

const LIMIT_MS = 180_000;
const MODEL = 'native/echo';
/** What the mock answers, and no prompt says. */
const WORDS = { prompt: 'Say /words 3 please', answer: 'word word word' };
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

interface Ended {
  readonly output: string;
  readonly status: number | null;
  readonly seconds: number;
  readonly passed: readonly Passed[];
}

export class AgentTrial {
  readonly #agent: Agent;
  readonly #site: Site;
  /** Home and work of the agent. */
  readonly #folder: string;
  /** What it finds commands in. */
  readonly #path: string;

  constructor(agent: Agent, site: Site, folder: string, path: string) {
    this.#agent = agent;
    this.#site = site;
    this.#folder = folder;
    this.#path = path;
    rmSync(folder, { recursive: true, force: true });
    for (const name of ['home', 'work']) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'schema.json'), JSON.stringify(SCHEMA));
  }

  async findings(): Promise<Findings> {
    const found: Partial<Record<Feature, string>> = {};
    for (const feature of FEATURES) {
      found[feature] = this.#agent.lacks[feature] ?? (await this.#try(feature));
      console.log(`${this.#agent.name}: ${feature}: ${found[feature]}`);
    }
    return found as Findings;
  }

  #try(feature: Feature): Promise<string> {
    switch (feature) {
      case 'plain':
        return this.#says(MODEL);
      case 'stream':
        return this.#streams();
      case 'tools':
        return this.#writes(MODEL);
      case 'two turns':
        return this.#remembers();
      case 'structured output':
        return this.#structures();
      case 'errors':
        return this.#ends();
      case 'translated':
        return this.#translates();
    }
  }

  async #says(model: string): Promise<string> {
    const ended = await this.run(this.#agent.once(WORDS.prompt), { model });
    return ended.output.includes(WORDS.answer) ? YES : failed(ended);
  }

  async #streams(): Promise<string> {
    const ended = await this.run(this.#agent.once(WORDS.prompt));
    const streams = ended.passed.filter(({ isStream }) => isStream);
    if (streams.length === 0) return 'asks for no stream';
    return streams.every(({ contentType }) => contentType.startsWith('text/event-stream')) ? YES : failed(ended);
  }

  async #writes(model: string): Promise<string> {
    const path = this.pathOf('note.txt');
    rmSync(path, { force: true });
    const ended = await this.run(this.#agent.once(`Do this: ${this.#agent.writes(path, 'written')}`), { model });
    return existsSync(path) && readFileSync(path, 'utf8').includes('written') ? YES : failed(ended);
  }

  async #remembers(): Promise<string> {
    await this.run(this.#agent.once('The word is swordfish'));
    const ended = await this.run(this.#agent.again(WORDS.prompt));
    const knows = ended.passed.some(({ body }) => body.includes('swordfish') && body.includes(WORDS.prompt));
    return knows && ended.output.includes(WORDS.answer) ? YES : failed(ended);
  }

  async #structures(): Promise<string> {
    const { structured, structuredPrompt = 'Name a city' } = this.#agent;
    const ended = await this.run(structured?.(structuredPrompt, join(this.#folder, 'schema.json')) ?? 'false');
    return /\{\\?"city\\?":\s?\\?"text\\?"\}/.test(ended.output) ? YES : failed(ended);
  }

  /** It says what is wrong, and does not go on for long. */
  async #ends(): Promise<string> {
    const ended = await this.run(this.#agent.once(WORDS.prompt), { key: this.#site.spent });
    if (!/spend.limit/i.test(ended.output)) return `does not say what is wrong: ${failed(ended)}`;
    const requests = ended.passed.filter(({ status }) => status === 402).length;
    return requests <= 3 ? YES : `reported after ${requests} attempts in ${ended.seconds} s`;
  }

  async #translates(): Promise<string> {
    const model = this.#agent.translatedModel;
    const said = await this.#says(model);
    return said !== YES || this.#agent.lacks.tools !== undefined ? said : this.#writes(model);
  }

  /** Where a file is among those that it works on. */
  pathOf(name: string): string {
    return join(this.#folder, 'work', name);
  }

  /** Runs a command line of the agent where it works. */
  async run(line: string, { model = MODEL, key = this.#site.key } = {}): Promise<Ended> {
    const script = join(this.#folder, 'try.sh');
    const { name, setUp } = this.#agent;
    const env = clientOf(name) === undefined ? '' : await this.#site.env(name, key, model);
    const beside = setUp?.({ url: this.#site.url, key, model }) ?? '';
    writeFileSync(script, ['shopt -s expand_aliases', env, beside, line, ''].join('\n'));
    this.#site.passed();
    const startedMs = Date.now();
    const child = spawn('timeout', [`${LIMIT_MS / 1_000}`, 'bash', script], {
      cwd: join(this.#folder, 'work'),
      env: { PATH: this.#path, HOME: join(this.#folder, 'home'), LANG: 'C.UTF-8', TERM: 'dumb' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const [output, errors, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const passed = this.#site.passed();
    const seconds = Math.round((Date.now() - startedMs) / 1_000);
    writeFileSync(join(this.#folder, 'last.log'), `${line}\n${output}\n${errors}`, { flag: 'a' });
    return { output: output + errors, status, seconds, passed };
  }
}

export function failed({ status, passed, output }: Ended): string {
  const statuses = passed.map((each) => each.status).join(', ') || 'no request';
  return `fails: exit ${status}, ${statuses}: ${output.trim().split('\n').at(-1)?.slice(0, 100).replaceAll('|', '/')}`;
}
