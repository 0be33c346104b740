/** Installs the clients of docs/clients.md, tries each of them on the mock, and writes what it found. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { campaign } from '../../support/campaign.ts';
import { AgentTrial } from './agent-trials.ts';
import { AGENTS, type Agent } from './agents.ts';
import { type Findings, type Found, featureTable } from './features.ts';
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

/** The clients that are installed in a folder. What is there is not installed again. */
class Installed {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** A Python of its own for each package: their needs contradict each other. */
  python(name: string): string {
    const place = join(this.folder, `python-${name}`);
    const python = join(place, 'bin', 'python');
    if (!existsSync(python)) {
      execFileSync('python3', ['-m', 'venv', place]);
      execFileSync(python, ['-m', 'pip', 'install', '--quiet', name], { stdio: 'inherit' });
    }
    return python;
  }

  /** Returns the version of the agent. */
  agent({ from }: Agent): string {
    if ('pip' in from) return pythonVersion(this.python(from.pip), from.pip);
    const place = join(this.folder, 'node_modules', from.npm);
    if (!existsSync(place)) {
      const words = ['install', '--prefix', this.folder, '--no-audit', '--no-fund', from.npm];
      execFileSync('npm', words, { stdio: 'inherit' });
    }
    return packageVersion(place);
  }

  /** Agents run on the Node of the machine, as they do at their users', and not on the project's. */
  pathFor({ from }: Agent): string {
    const own = 'pip' in from ? [`python-${from.pip}`, 'bin'] : ['node_modules', '.bin'];
    const others = (process.env.PATH ?? '').split(delimiter).filter((each) => !each.includes('node_modules'));
    return [join(this.folder, ...own), ...others].join(delimiter);
  }
}

function packageVersion(place: string): string {
  return (JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as { version: string }).version;
}

function pythonVersion(python: string, name: string): string {
  const code = `import importlib.metadata; print(importlib.metadata.version(${JSON.stringify(name)}))`;
  return execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim();
}

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
    const folder = options.folder === '' ? mkdtempSync(join(tmpdir(), 'inf-gw-clients-')) : options.folder;
    if (options.folder === '') course.after(() => rmSync(folder, { recursive: true, force: true }));
    const site = await startSite(join(folder, 'gateway'));
    course.after(() => site.stop());
    const found = written(await all(site, new Installed(folder), options.only));
    writeFileSync(FOUND, `${JSON.stringify(found, null, 2)}\n`);
    console.log(featureTable(found).join('\n'));
    return `${found.length} clients`;
  },
});
