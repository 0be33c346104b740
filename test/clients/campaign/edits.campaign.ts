/** Agents that each edit a file through hosts of every kind, and pay what these bill. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Course, campaign, showRow } from '../../support/campaign.ts';
import { AgentTrial, failed } from './agent-trials.ts';
import { AGENTS, type Agent } from './agents.ts';
import { type Bill, BillingHosts } from './billing-hosts.ts';
import { Installed } from './installed.ts';
import { DONE_WORDS } from './scripted-answers.ts';
import { type Site, startSite } from './site.ts';

/** By their commands. */
const EDITORS = ['claude', 'codex', 'gemini'];
const MODELS = ['bedrock/claude', 'bedrock/nova', 'vertex/claude', 'vertex/gemini', 'google/gemini', 'chat/echo'];

interface Trial {
  readonly agent: Agent;
  readonly model: string;
  readonly site: Site;
  readonly hosts: BillingHosts;
  readonly installed: Installed;
}

/** Returns what is wrong; undefined if nothing is. */
async function edit({ agent, model, site, hosts, installed }: Trial): Promise<string | undefined> {
  const name = `${agent.name} at ${model}`;
  const key = (await site.run('keys', 'create', name)).trim();
  const trial = new AgentTrial(agent, site, join(installed.folder, `of-${agent.name}`), installed.pathFor(agent));
  const path = trial.pathOf('note.txt');
  writeFileSync(path, 'It was good before that.\n');
  hosts.script(agent.edits?.(path, 'before', 'after') ?? []);
  const ended = await trial.run(agent.once('Change before to after in note.txt.'), { model, key });
  const text = readFileSync(path, 'utf8');
  if (text !== 'It was good after that.\n') return `the file has not changed: ${failed(ended)}`;
  if (!ended.output.includes(DONE_WORDS)) return `the end was not shown: ${failed(ended)}`;
  const [charged, billed] = [await chargesOf(site, name), billOf(hosts.bill)];
  return charged === billed ? undefined : `charged are ${charged}, billed were ${billed}`;
}

async function chargesOf(site: Site, key: string): Promise<string> {
  const [row] = JSON.parse(await site.run('usage', '--key', key, '--json'));
  const { requests, errors, prompt_tokens, completion_tokens, cost_usd } = row;
  return billOf({
    requests: requests - errors,
    inputTokens: prompt_tokens,
    outputTokens: completion_tokens,
    nanos: Math.round(Number(cost_usd) * 1e9),
  });
}

function billOf({ requests, inputTokens, outputTokens, nanos }: Bill): string {
  return `${requests} requests, ${inputTokens} and ${outputTokens} tokens, ${nanos} nanodollars`;
}

async function all(course: Course, { folder, only }: { readonly folder: string; readonly only: string }) {
  const installed = Installed.in(folder, course);
  const hosts = await BillingHosts.start();
  course.after(() => hosts.close());
  const site = await startSite(join(installed.folder, 'gateway'), hosts.config, hosts.environment);
  course.after(() => site.stop());
  let edits = 0;
  for (const agent of AGENTS.filter(({ name, title }) => EDITORS.includes(name) && title.includes(only))) {
    const version = installed.agent(agent);
    for (const model of MODELS) {
      const wrong = await edit({ agent, model, site, hosts, installed });
      showRow(`${agent.title} ${version}, ${model}`, [wrong === undefined ? billOf(hosts.bill) : 'wrong']);
      if (wrong === undefined) edits++;
      else course.deviate(`${agent.title} at ${model}: ${wrong}`);
    }
  }
  return edits;
}

export default campaign({
  proves:
    'Claude Code, Codex and Gemini CLI edit a file through hosts of every kind, for what these bill; it needs npm',
  // In a folder that is kept, nothing is installed twice.
  options: { folder: '', only: '' },
  run: async (course, options) => `${await all(course, options)} files were edited`,
});
