/**
 * The schemas of Compose and Kubernetes, as far as our manifests use them: a field that is not here
 * is wrong, or has to be looked up and added.
 */
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

const { array, boolean, enum: one, int, literal, record, strictObject: object, string, union } = z;

/** Of an object, of a port or of a volume. */
const name = string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
const texts = record(string(), string());
/** Such as 100m or 512Mi. */
const quantity = string().regex(/^\d+(m|[KMGT]i)?$/);
const portNumber = int().min(1).max(65_535);
const port = union([name, portNumber]);
const protocol = one(['TCP', 'UDP', 'SCTP']);
const block = string().regex(/^[0-9a-f.:]+\/\d{1,3}$/);
const seconds = int().min(1);

const metadata = object({ name });
const selector = object({ matchLabels: texts });
const probe = object({
  httpGet: object({ path: string().startsWith('/'), port }),
  periodSeconds: seconds.optional(),
  timeoutSeconds: seconds.optional(),
  failureThreshold: int().min(1).optional(),
});
const resources = object({
  requests: record(one(['cpu', 'memory']), quantity).optional(),
  limits: object({ memory: quantity }),
});
const secretKey = object({ name, key: string(), optional: boolean().optional() });

const container = object({
  name,
  image: string(),
  imagePullPolicy: one(['Always', 'IfNotPresent', 'Never']).optional(),
  restartPolicy: literal('Always').optional(),
  env: array(
    object({ name: string(), value: string().optional(), valueFrom: object({ secretKeyRef: secretKey }).optional() }),
  ).optional(),
  envFrom: array(object({ secretRef: object({ name }) })).optional(),
  ports: array(object({ name, containerPort: portNumber })).optional(),
  startupProbe: probe.optional(),
  readinessProbe: probe.optional(),
  livenessProbe: probe.optional(),
  resources: resources.optional(),
  securityContext: object({
    allowPrivilegeEscalation: boolean(),
    readOnlyRootFilesystem: boolean().optional(),
    capabilities: object({ drop: array(string()) }),
  }),
  volumeMounts: array(object({ name, mountPath: string(), readOnly: boolean().optional() })).optional(),
});

const volume = object({
  name,
  configMap: object({ name }).optional(),
  persistentVolumeClaim: object({ claimName: name }).optional(),
  emptyDir: object({ medium: literal('Memory'), sizeLimit: quantity }).optional(),
}).refine(({ name: _, ...sources }) => Object.keys(sources).length === 1, 'is of one kind');

const pod = object({
  automountServiceAccountToken: boolean(),
  terminationGracePeriodSeconds: seconds,
  securityContext: object({
    runAsNonRoot: boolean(),
    runAsUser: int(),
    runAsGroup: int(),
    fsGroup: int().optional(),
    fsGroupChangePolicy: one(['Always', 'OnRootMismatch']).optional(),
    seccompProfile: object({ type: one(['RuntimeDefault', 'Unconfined']) }),
  }),
  topologySpreadConstraints: array(
    object({
      maxSkew: int().min(1),
      topologyKey: string(),
      whenUnsatisfiable: one(['DoNotSchedule', 'ScheduleAnyway']),
      labelSelector: selector,
    }),
  ).optional(),
  initContainers: array(container).optional(),
  // Containers that start again with their pod say nothing of it.
  containers: array(container.omit({ restartPolicy: true })).min(1),
  volumes: array(volume),
});

const count = union([int().min(0), string().regex(/^\d+%$/)]);
const strategy = union([
  object({ type: literal('Recreate') }),
  object({ type: literal('RollingUpdate'), rollingUpdate: object({ maxUnavailable: count, maxSurge: count }) }),
]);
const peer = object({
  podSelector: selector.optional(),
  ipBlock: object({ cidr: block, except: array(block).optional() }).optional(),
});
const openPorts = array(object({ protocol, port }));
const accessMode = one(['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod']);

const KUBERNETES = z.discriminatedUnion('kind', [
  object({ apiVersion: literal('v1'), kind: literal('ConfigMap'), metadata, data: texts }),
  object({
    apiVersion: literal('v1'),
    kind: literal('PersistentVolumeClaim'),
    metadata,
    spec: object({
      accessModes: array(accessMode),
      resources: object({ requests: object({ storage: quantity }) }),
    }),
  }),
  object({
    apiVersion: literal('apps/v1'),
    kind: literal('Deployment'),
    metadata,
    spec: object({
      replicas: int().min(0),
      strategy,
      selector,
      template: object({ metadata: object({ labels: texts }), spec: pod }),
    }),
  }),
  object({
    apiVersion: literal('v1'),
    kind: literal('Service'),
    metadata,
    spec: object({
      selector: texts,
      ports: array(object({ name, port: portNumber, targetPort: port })),
    }),
  }),
  object({
    apiVersion: literal('networking.k8s.io/v1'),
    kind: literal('NetworkPolicy'),
    metadata,
    spec: object({
      podSelector: selector,
      policyTypes: array(one(['Ingress', 'Egress'])),
      ingress: array(object({ from: array(peer).optional(), ports: openPorts })),
      egress: array(object({ to: array(peer).optional(), ports: openPorts })).optional(),
    }),
  }),
  object({
    apiVersion: literal('policy/v1'),
    kind: literal('PodDisruptionBudget'),
    metadata,
    spec: object({ minAvailable: count, selector }),
  }),
]);

/** Such as 40s or 1m30s. */
const duration = string().regex(/^(\d+h)?(\d+m)?(\d+s)?$/);
const envFile = object({ path: string(), required: boolean() });
const service = object({
  image: string().regex(/:[^:/]+$/, 'names a version'),
  environment: texts.optional(),
  env_file: array(envFile).optional(),
  depends_on: record(name, object({ condition: one(['service_started', 'service_healthy']) })).optional(),
  restart: one(['no', 'always', 'on-failure', 'unless-stopped']),
  volumes: array(string().regex(/^[^:]+:\/[^:]+(:r[ow])?$/)).optional(),
  init: boolean().optional(),
  read_only: boolean().optional(),
  tmpfs: array(string()).optional(),
  cap_drop: array(string()).optional(),
  security_opt: array(string()).optional(),
  mem_limit: string()
    .regex(/^\d+[bkmg]b?$/)
    .optional(),
  pids_limit: int().optional(),
  stop_grace_period: duration.optional(),
  healthcheck: object({
    test: array(string()).min(2),
    interval: duration,
    timeout: duration,
    start_period: duration,
    start_interval: duration,
  }).optional(),
});
const COMPOSE = object({
  name,
  services: record(name, service),
  volumes: record(name, z.null()),
});

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The objects of a file for Kubernetes. */
export function manifestsIn(path: string): Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as Manifest);
}

/** What is wrong with an object for Kubernetes. */
export function faultsOf(manifest: Manifest): string[] {
  return faultsBy(KUBERNETES, manifest);
}

/** What is wrong with a file for Compose, as read from YAML. */
export function composeFaultsOf(file: unknown): string[] {
  return faultsBy(COMPOSE, file);
}

function faultsBy(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('/')}: ${message}`);
}
