/** The files for Compose and Kubernetes: valid by their schemas, and agreed with the image and the configs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { VERSION } from '../../src/core/program.ts';
import { routeOf } from '../../src/http/routes.ts';
import { Workplace } from '../support/cli.ts';
import { composeFaultsOf, faultsOf, manifestsIn } from './schemas.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMAGE = `inf-gw:${VERSION}`;
/** How long a gateway may take after `timeouts.drain`: three times the grace of `gateway/worker.ts`. */
const AFTER_DRAIN_S = 6;

const dockerfile = read('Dockerfile');
const compose = parse(read('deploy/compose.yaml')) as Compose;

interface Config {
  readonly listen: string;
  readonly state: string;
  readonly timeouts?: { readonly drain?: string };
}

interface Compose {
  readonly services: Readonly<Record<'app' | 'gateway', ComposeService>>;
}

interface ComposeService {
  readonly image: string;
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly env_file: readonly { readonly path: string }[];
  readonly healthcheck: { readonly test: readonly string[] };
  readonly stop_grace_period: string;
  readonly mem_limit: string;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly restartPolicy?: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly mountPath: string }[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

interface Policy {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly policyTypes: readonly string[];
    readonly ingress: readonly {
      readonly from?: readonly unknown[];
      readonly ports: readonly { readonly port?: number }[];
    }[];
  };
}

/** A line of the Dockerfile's last stage. */
function instruction(pattern: RegExp): string {
  return pattern.exec(dockerfile.slice(dockerfile.lastIndexOf('\nFROM ')))?.[1] ?? '';
}

const IN_IMAGE = {
  program: (JSON.parse(instruction(/^ENTRYPOINT (.*)$/m)) as string[])[0] ?? '',
  healthcheck: JSON.parse(instruction(/^HEALTHCHECK .* CMD (.*)$/m)) as string[],
  configPath: instruction(/INF_GW_CONFIG=(\S+)/),
  user: instruction(/^USER (.*)$/m),
  volume: instruction(/^VOLUME (.*)$/m),
  port: instruction(/^EXPOSE (.*)$/m),
};

/** The variables that a text refers to. */
function variablesIn(text: string): string[] {
  return [...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name]) => name as string);
}

/** How long after SIGTERM the gateway may need, with a config. */
function longestStopS(config: Config): number {
  const drain = config.timeouts?.drain ?? (parse(read('config.example.yaml')) as Config).timeouts?.drain;
  return Number.parseInt(drain ?? '', 10) + AFTER_DRAIN_S;
}

/** Fails unless the program accepts a config, with its variables set, and every provider is active. */
async function assertServed(t: { after(cleanUp: () => void): void }, text: string): Promise<void> {
  const place = new Workplace(t, text);
  for (const name of variablesIn(text)) place.environment[name] = 'canary';
  const { status, stdout, stderr } = await place.run(['config', 'check']);
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stdout + stderr, /is not set|warning/i);
}

describe('deploy/compose.yaml', () => {
  const { app, gateway } = compose.services;
  const config = read('deploy/container.yaml');

  test('is what Compose reads', () => {
    assert.deepEqual(composeFaultsOf(compose), []);
    // The check itself: a field that Compose does not know.
    const wrong = parse(read('deploy/compose.yaml').replace('read_only:', 'readonly:'));
    assert.deepEqual(composeFaultsOf(wrong), ['services/gateway: Unrecognized key: "readonly"']);
  });

  test('agrees with the image, and with the config that it mounts', async (t) => {
    const { listen, state, ...rest } = parse(config) as Config;
    assert.equal(gateway.image, IMAGE);
    assert.deepEqual(gateway.volumes, [`./container.yaml:${IN_IMAGE.configPath}:ro`, `state:${IN_IMAGE.volume}`]);
    assert.ok(state.startsWith(`${IN_IMAGE.volume}/`));
    assert.equal(listen, `0.0.0.0:${IN_IMAGE.port}`);
    assert.equal(app.environment.OPENAI_BASE_URL, `http://gateway:${IN_IMAGE.port}/v1`);
    assert.deepEqual(gateway.healthcheck.test, ['CMD', ...IN_IMAGE.healthcheck]);
    assert.equal(IN_IMAGE.healthcheck[0], IN_IMAGE.program);
    assert.ok(Number.parseInt(gateway.stop_grace_period, 10) >= longestStopS({ listen, state, ...rest }));
    // Only the gateway sees the keys of providers.
    assert.deepEqual(
      gateway.env_file.map(({ path }) => path),
      ['gateway.env'],
    );
    assert.deepEqual(
      app.env_file.map(({ path }) => path),
      ['app.env'],
    );
    for (const name of variablesIn(config))
      assert.match(read('deploy/compose.yaml'), new RegExp(`${name}=.*gateway.env`));
    await assertServed(t, config);
  });
});

for (const file of ['deploy/kubernetes.yaml', 'deploy/kubernetes-postgres.yaml']) {
  describe(file, () => {
    const manifests = manifestsIn(join(ROOT, file));
    const pod = podIn(manifests);
    const containers = [...(pod.initContainers ?? []), ...pod.containers];
    const gateway = containers.find(({ name }) => name === 'gateway') as Container;
    const text = configIn(manifests);
    const config = parse(text) as Config;

    test('is what Kubernetes reads', () => {
      for (const manifest of manifests) assert.deepEqual(faultsOf(manifest), [], manifest.kind);
      // The check itself: a field that Kubernetes does not know, and one of the wrong type.
      const wrong = JSON.stringify(manifests)
        .replaceAll('readinessProbe', 'readynessProbe')
        .replace('"replicas":', '"replicas":true,"x":');
      const faults = (JSON.parse(wrong) as typeof manifests).flatMap(faultsOf);
      assert.match(faults.join('\n'), /^spec\/template\/spec\/.*: Unrecognized key: "readynessProbe"$/m);
      assert.match(faults.join('\n'), /^spec\/replicas: Invalid input: expected number/m);
    });

    test('agrees with the image, and with the config that it mounts', async (t) => {
      const { runAsUser, runAsGroup } = pod.securityContext;
      assert.equal(gateway.image, IMAGE);
      assert.equal(`${runAsUser}:${runAsGroup}`, IN_IMAGE.user);
      assert.equal(config.listen, `0.0.0.0:${IN_IMAGE.port}`);
      assert.deepEqual(gateway.ports, [{ name: 'gateway', containerPort: Number(IN_IMAGE.port) }]);
      const mounts = gateway.volumeMounts.map(({ mountPath }) => mountPath);
      assert.ok(mounts.some((path) => `${path}/config.yaml` === IN_IMAGE.configPath));
      assert.ok(config.state.startsWith('postgres:') || mounts.some((path) => config.state.startsWith(`${path}/`)));
      assert.ok(pod.terminationGracePeriodSeconds >= longestStopS(config));
      for (const name of variablesIn(text))
        assert.ok(read(file).includes(`secret generic inf-gw`) && read(file).includes(`--from-literal=${name}=`));
      assert.deepEqual(
        [...read(file).matchAll(/-- (\/\S+) /g)].filter(([, path]) => path !== IN_IMAGE.program),
        [],
      );
      await assertServed(t, text);
    });

    test('lets other pods reach the gateway only if a policy names them', () => {
      const { spec } = manifests.find(({ kind }) => kind === 'NetworkPolicy') as unknown as Policy;
      assert.deepEqual(spec.podSelector.matchLabels, labelsIn(manifests));
      assert.ok(spec.policyTypes.includes('Ingress'));
      const open = spec.ingress.filter(({ from = [] }) => from.length === 0).flatMap(({ ports }) => ports);
      assert.ok(open.every(({ port }) => port !== undefined && port !== Number(IN_IMAGE.port)));
    });

    test('asks for health at paths that the gateway has', () => {
      const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;
      const asked = probes.map((probe) => gateway[probe].httpGet);
      assert.deepEqual(
        asked.map(({ path }) => routeOf('GET', path)),
        [
          { ok: true, route: { kind: 'readyz' } },
          { ok: true, route: { kind: 'readyz' } },
          { ok: true, route: { kind: 'healthz' } },
        ],
      );
      assert.ok(asked.every(({ port }) => gateway.ports.some(({ name }) => name === port)));
    });
  });
}

test('deploy/kubernetes.yaml: the gateway starts before the app, ends after it, and is what the app calls', () => {
  const pod = podIn(manifestsIn(join(ROOT, 'deploy/kubernetes.yaml')));
  assert.deepEqual(
    pod.initContainers?.map(({ name, restartPolicy }) => [name, restartPolicy]),
    [['gateway', 'Always']],
  );
  const [app] = pod.containers;
  assert.equal(app?.env.find(({ name }) => name === 'OPENAI_BASE_URL')?.value, `http://127.0.0.1:${IN_IMAGE.port}/v1`);
});

function labelsIn(manifests: ReturnType<typeof manifestsIn>): Readonly<Record<string, string>> {
  const deployment = manifests.find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: { readonly template: { readonly metadata: { readonly labels: Readonly<Record<string, string>> } } };
  };
  return deployment.spec.template.metadata.labels;
}

function podIn(manifests: ReturnType<typeof manifestsIn>): Pod {
  const deployment = manifests.find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: { readonly template: { readonly spec: Pod } };
  };
  return deployment.spec.template.spec;
}

function configIn(manifests: ReturnType<typeof manifestsIn>): string {
  const map = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as {
    readonly data: Readonly<Record<string, string>>;
  };
  return map.data['config.yaml'] ?? '';
}
