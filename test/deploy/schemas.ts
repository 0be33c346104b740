/** Checks the manifests by the schemas of Compose and Kubernetes. */
import { readFileSync } from 'node:fs';
import { DCLinter } from 'dclint';
import { validate as validateDeployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as validateConfigMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap';
import { validate as validateClaim } from 'kubernetes-models/_schemas/IoK8sApiCoreV1PersistentVolumeClaim';
import { validate as validateService } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service';
import { validate as validateNetworkPolicy } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy';
import { validate as validateBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';
import { parseAllDocuments } from 'yaml';

interface Validate {
  (data: unknown): boolean;
  readonly errors?:
    | readonly { readonly instancePath: string; readonly keyword: string; readonly params: unknown }[]
    | null;
}

const KINDS: Readonly<Record<string, unknown>> = {
  'v1 ConfigMap': validateConfigMap,
  'v1 PersistentVolumeClaim': validateClaim,
  'v1 Service': validateService,
  'apps/v1 Deployment': validateDeployment,
  'networking.k8s.io/v1 NetworkPolicy': validateNetworkPolicy,
  'policy/v1 PodDisruptionBudget': validateBudget,
};

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The objects of a file for Kubernetes. */
export function manifestsIn(path: string): Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as Manifest);
}

/** What the schema of its kind finds wrong with an object, and fields that the schema does not know. */
export function faultsOf(manifest: Manifest): string[] {
  const validate = KINDS[`${manifest.apiVersion} ${manifest.kind}`] as Validate | undefined;
  if (validate === undefined) return [`there is no schema of ${manifest.apiVersion} ${manifest.kind} here`];
  const asked = new Set<string>();
  const isValid = validate(watched(manifest, '', asked));
  const errors = isValid
    ? []
    : (validate.errors ?? []).map(
        ({ instancePath, keyword, params }) => `${instancePath} ${keyword} ${JSON.stringify(params)}`,
      );
  const unknown = pathsIn(manifest, '').filter((path) => !asked.has(path));
  return [...errors, ...unknown.map((path) => `${path} is not a field that the schema knows`)];
}

/** Notes which fields are read. The schemas allow unknown fields, but never look at them; Kubernetes drops them. */
function watched(value: unknown, path: string, asked: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, name) {
      const inner = `${path}/${String(name)}`;
      asked.add(inner);
      return watched(Reflect.get(target, name), inner, asked);
    },
  });
}

function pathsIn(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    ...(path === '' ? [] : [path]),
    ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, `${path}/${name}`)),
  ];
}

/** The order of keys in a service follows what belongs together. */
const RULES = { 'service-keys-order': 0 } as const;

interface LintMessage {
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

/** What Compose's schema, and the linter that it comes with, find wrong with a file. */
export function composeFaultsOf(path: string): string[] {
  const linter = new DCLinter({ rules: RULES, quiet: false, debug: false, exclude: [] });
  const results = linter.lintFiles([path], false) as readonly { readonly messages: readonly LintMessage[] }[];
  return results.flatMap(({ messages }) =>
    messages.map(({ line, rule, message }) => `line ${line}: ${message} (${rule})`),
  );
}
