/** Installs the clients of docs/clients.md, tries each of them on the mock, and writes what it found. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { campaign } from '../../support/campaign.ts';
import { AgentTrial } from './agent-trials.ts';
import { AGENTS } from './agents.ts';
import { type Findings, type Found, featureTable } from './features.ts';
import { Installed, packageVersion } from './installed.ts';
import { findingsOf, LIBRARIES } from './library-trials.ts';
import { type Site, startSite } from './site.ts';

const FOUND = fileURLToPath(new URL('./found.json', import.meta.url));
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
async function all(site: Site, installed: Installed, only: string): Promise<Found[]> {
  const found: Found[] = [];
  const isWanted = ({ title }: { readonly title: string }) => title.includes(only);
  for (const agent of AGENTS.filter(isWanted)) {
    const version = installed.agent(agent);
    const trial = new AgentTrial(agent, site, join(installed.folder, `of-${agent.name}`), installed.pathFor(agent));
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

/** What was tried before and not now stays as it was. */
function written(found: readonly Found[]): readonly Found[] {
  const before = existsSync(FOUND) ? (JSON.parse(readFileSync(FOUND, 'utf8')) as readonly Found[]) : [];
  const kept = before.filter(({ client }) => !found.some((each) => each.client === client));
  const order = [...AGENTS, ...LIBRARIES, ...PYTHON_LIBRARIES].map(({ title }) => title);
  return [...kept, ...found].toSorted((a, b) => order.indexOf(a.client) - order.indexOf(b.client));
}

export default campaign({
  proves: 'what each client can do, as the table in docs/clients.md says; it needs npm and pip',
  // In a folder that is kept, nothing is installed twice.
  options: { folder: '', only: '' },
  async run(course, options) {
    const installed = Installed.in(options.folder, course);
    const site = await startSite(join(installed.folder, 'gateway'));
    course.after(() => site.stop());
    const found = written(await all(site, installed, options.only));
    writeFileSync(FOUND, `${JSON.stringify(found, null, 2)}\n`);
    console.log(featureTable(found).join('\n'));
    return `${found.length} clients`;
  },
});
