/**
 * Installs the clients of docs/clients.md, tries each of them on the mock, and agents by `inf-gw run` with the shipped config.
 * Writes what it found.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Course, campaign } from '../../support/campaign.ts';
import { AgentTrial } from './agent-trials.ts';
import { AGENTS } from './agents.ts';
import { type Findings, type Found, featureTable } from './features.ts';
import { Installed, packageVersion } from './installed.ts';
import { findingsOf, LIBRARIES } from './library-trials.ts';
import { type RunFound, runTable, SCENARIOS } from './run-findings.ts';
import { RunHosts } from './run-hosts.ts';
import { RunTrial } from './run-trials.ts';
import { type Site, startSite } from './site.ts';

const FOUND = fileURLToPath(new URL('./found.json', import.meta.url));
const RUNS_FOUND = fileURLToPath(new URL('./runs-found.json', import.meta.url));
const PYTHON_LIBRARIES = [
  { title: 'OpenAI’s library for Python', package: 'openai', script: 'openai_library.py' },
  { title: 'Anthropic’s library for Python', package: 'anthropic', script: 'anthropic_library.py' },
  { title: 'Google’s library for Python', package: 'google-genai', script: 'google_library.py' },
  { title: 'LangChain for Python', package: 'langchain-openai', script: 'langchain_library.py' },
  { title: 'pydantic-ai', package: 'pydantic-ai-slim[openai]', script: 'pydantic_ai_library.py' },
  { title: 'openai-agents for Python', package: 'openai-agents', script: 'openai_agents_library.py' },
] as const;

async function findingsInPython(script: string, python: string, { url, key, spent }: Site) {
  const path = fileURLToPath(new URL(`./${script}`, import.meta.url));
  // Nothing is written beside the scripts.
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawn(python, [path, url, key, spent], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(await text(child.stdout)) as Findings & { readonly version: string };
}

/** `only`: a part of their titles. */
async function all(site: Site, installed: Installed, place: string, only: string): Promise<Found[]> {
  const found: Found[] = [];
  const isWanted = ({ title }: { readonly title: string }) => title.includes(only);
  for (const agent of AGENTS.filter(isWanted)) {
    const version = installed.agent(agent);
    const trial = new AgentTrial(agent, site, join(place, `of-${agent.name}`), installed.pathFor(agent));
    found.push({ client: agent.title, version, ...(await trial.findings()) });
  }
  for (const library of LIBRARIES.filter(isWanted)) {
    const place = fileURLToPath(new URL(`../../../node_modules/${library.package}`, import.meta.url));
    found.push({ client: library.title, version: packageVersion(place), ...(await findingsOf(library, site)) });
  }
  for (const { title, package: name, script } of PYTHON_LIBRARIES.filter(isWanted)) {
    found.push({ client: title, ...(await findingsInPython(script, installed.python(name), site)) });
  }
  return found;
}

/** Tries the agents that edit files by `inf-gw run`. `place`: where they work. */
async function allRuns(course: Course, installed: Installed, place: string, only: string): Promise<RunFound[]> {
  const hosts = await RunHosts.start();
  course.after(() => hosts.close());
  const found: RunFound[] = [];
  for (const agent of AGENTS.filter(({ title, foreignModel }) => foreignModel !== undefined && title.includes(only))) {
    const version = installed.agent(agent);
    const trial = await RunTrial.make(agent, hosts, join(place, agent.name), installed.pathFor(agent));
    const cells: [string, string][] = [];
    for (const scenario of SCENARIOS) {
      const { seen, wrong } = await trial.try(scenario);
      const excuse = agent.excused?.[scenario];
      console.log(`${agent.name}: ${scenario}: ${seen}${wrong === undefined ? '' : `; WRONG: ${wrong}`}`);
      if (wrong !== undefined && excuse === undefined) course.deviate(`${agent.title}, ${scenario}: ${wrong}`);
      cells.push([scenario, wrong === undefined || excuse === undefined ? seen : `${excuse}: ${seen}`]);
    }
    found.push({ client: agent.title, version, ...Object.fromEntries(cells) } as unknown as RunFound);
  }
  return found;
}

/** Writes findings. What was tried before and not now stays as it was. */
function written<Row extends { readonly client: string }>(file: string, found: readonly Row[]): readonly Row[] {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Row[]) : [];
  const kept = before.filter(({ client }) => !found.some((each) => each.client === client));
  const order = [...AGENTS, ...LIBRARIES, ...PYTHON_LIBRARIES].map(({ title }) => title);
  const all = [...kept, ...found].toSorted((a, b) => order.indexOf(a.client) - order.indexOf(b.client));
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
  return all;
}

export default campaign({
  proves: 'what each client can do, as the table in docs/clients.md says; it needs npm and pip',
  // In a folder that is kept, nothing is installed twice. `part`: `features` or `runs`.
  options: { folder: '', only: '', part: '' },
  async run(course, { folder, only, part }) {
    const installed = Installed.in(folder, course);
    const place = mkdtempSync(join(tmpdir(), 'inf-gw-clients-at-work-'));
    const parts: string[] = [];
    if (part !== 'runs') {
      const site = await startSite(join(place, 'gateway'));
      course.after(() => site.stop());
      const found = written(FOUND, await all(site, installed, place, only));
      console.log(featureTable(found).join('\n'));
      parts.push(`${found.length} clients`);
    }
    if (part !== 'features') {
      const found = written(RUNS_FOUND, await allRuns(course, installed, place, only));
      console.log(runTable(found).join('\n'));
      parts.push(`${found.length} agents by run`);
    }
    return `${parts.join(', ')}; what they printed is in ${place}`;
  },
});
