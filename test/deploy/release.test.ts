/** What a release is made with and says of itself: actions and images that nobody can move, and a bill of materials. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, string>>;
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly Step[]; readonly permissions?: Readonly<Record<string, string>> }>
  >;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>;
}

interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes?: readonly unknown[];
  }[];
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

const workflow = parse(read('.github/workflows/release.yaml')) as Workflow;
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

test('actions are named by their commits, and base images by their digests', () => {
  for (const { uses } of steps) if (uses !== undefined) assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  const images = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image as string);
  assert.equal(images.length, 2);
  for (const image of images) assert.match(image, /@sha256:[0-9a-f]{64}$/);
});

test('only the job that publishes may write, and it runs nothing of the project', () => {
  assert.deepEqual(workflow.permissions, { contents: 'read' });
  const writers = Object.entries(workflow.jobs).filter(([, { permissions }]) => permissions !== undefined);
  assert.deepEqual(
    writers.map(([name]) => name),
    ['publish'],
  );
  for (const { uses = '', run = '' } of workflow.jobs.publish?.steps ?? []) {
    assert.doesNotMatch(`${uses} ${run}`, /checkout|\bnpm\b|\bnode\b|chmod/);
  }
});

test('the bill of materials lists every package that is installed to run', () => {
  const output = execFileSync('npm', ['run', '--silent', 'make:bill'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64e6,
  });
  const bill = JSON.parse(output) as Bill;
  assert.equal(bill.bomFormat, 'CycloneDX');
  const { packages } = JSON.parse(read('package-lock.json')) as Lock;
  const expected = Object.entries(packages).filter(([path, { dev = false }]) => path !== '' && !dev);
  assert.deepEqual(
    new Set(bill.components.map(({ name, version }) => `${name} ${version}`)),
    new Set(expected.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`)),
  );
  assert.ok(bill.components.every(({ hashes = [] }) => hashes.length > 0));
  const published = steps.some(({ run }) => run === 'npm run --silent make:bill > inf-gw.cdx.json');
  assert.ok(published && steps.some((step) => step.with?.['predicate-path'] === 'release/inf-gw.cdx.json'));
});
