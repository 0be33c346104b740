/**
 * Installs the clients of docs/clients.md, tries each of them on the mock, and writes what it found:
 * `npm run test:clients [-- --folder DIR] [--only TITLE]`. In a folder that is kept, nothing is installed twice.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AgentTrial } from './agent-trials.ts';
import { AGENTS, type Agent } from './agents.ts';
import { type Findings, type Found, featureTable } from './features.ts';
import { findingsOf, LIBRARIES } from './library-trials.ts';
import { type Site, startSite } from './site.ts';

const FOUND = fileURLToPath(new URL('./found.json', import.meta.url));
const PYTHON_LIBRARIES = [
  { title: 'OpenAI’s library for Python', package: 'openai', script: 'openai_library.py' },
  { title: 'Anthropic’s library for Python', package: 'anthropic', script: 'anthropic_library.py' },
] as const;

const { values } = parseArgs({ options: { folder: { type: 'string' }, only: { type: 'string' } } });
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'inf-gw-clients-'));
const isWanted = (title: string) => values.only === undefined || title.includes(values.only);

/** With a Python of its own for each package: their needs contradict each other. */
function installPython(name: string): string {
  const place = join(folder, `python-${name}`);
  const python = join(place, 'bin', 'python');
  if (!existsSync(python)) {
    execFileSync('python3', ['-m', 'venv', place]);
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', name], { stdio: 'inherit' });
  }
  return python;
}

function installAgent({ from }: Agent): void {
  if ('pip' in from) installPython(from.pip);
  else if (!existsSync(join(folder, 'node_modules', from.npm))) {
    execFileSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', from.npm], { stdio: 'inherit' });
  }
}

function versionOf({ from }: Agent): string {
  if ('npm' in from) return packageVersion(join(folder, 'node_modules', from.npm));
  return pythonVersion(installPython(from.pip), from.pip);
}

function packageVersion(place: string): string {
  return (JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as { version: string }).version;
}

function pythonVersion(python: string, name: string): string {
  const code = `import importlib.metadata; print(importlib.metadata.version(${JSON.stringify(name)}))`;
  return execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim();
}

/** Agents run on the Node of the machine, as they do at their users', and not on the project's. */
function pathFor({ from }: Agent): string {
  const own = 'pip' in from ? join(folder, `python-${from.pip}`, 'bin') : join(folder, 'node_modules', '.bin');
  const others = (process.env.PATH ?? '').split(delimiter).filter((each) => !each.includes('node_modules'));
  return [own, ...others].join(delimiter);
}

async function findingsInPython(script: string, python: string, { url, key, spent }: Site) {
  const path = fileURLToPath(new URL(`./${script}`, import.meta.url));
  const child = spawn(python, [path, url, key, spent], { stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(await text(child.stdout)) as Findings & { readonly version: string };
}

async function all(site: Site): Promise<Found[]> {
  const found: Found[] = [];
  for (const agent of AGENTS.filter(({ title }) => isWanted(title))) {
    installAgent(agent);
    const trial = new AgentTrial(agent, site, join(folder, `of-${agent.name}`), pathFor(agent));
    found.push({ client: agent.title, version: versionOf(agent), ...(await trial.findings()) });
  }
  for (const library of LIBRARIES.filter(({ title }) => isWanted(title))) {
    const place = fileURLToPath(new URL(`../../../node_modules/${library.package}`, import.meta.url));
    found.push({ client: library.title, version: packageVersion(place), ...(await findingsOf(library, site)) });
  }
  for (const { title, package: name, script } of PYTHON_LIBRARIES.filter((each) => isWanted(each.title))) {
    found.push({ client: title, ...(await findingsInPython(script, installPython(name), site)) });
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

const site = await startSite(join(folder, 'gateway'));
try {
  const found = written(await all(site));
  writeFileSync(FOUND, `${JSON.stringify(found, null, 2)}\n`);
  console.log(featureTable(found).join('\n'));
} finally {
  await site.stop();
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
