/** Finds the environment variables that a config file takes secrets from. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { isObject } from '../core/json.ts';
import { isSet } from './secrets.ts';

const REFERENCE = /\$\{(\w+)\}/g;

/** Fields whose values are shown in listings. */
const OPEN_FIELDS: ReadonlySet<string> = new Set(['node', 'listen']);

/** The variables of default credentials, by kind of provider or by its `auth`: used if the config has no key. */
const CREDENTIALS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['bedrock', ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']],
  ['vertex', ['GOOGLE_APPLICATION_CREDENTIALS', 'google_application_credentials']],
  ['entra', ['AZURE_CLIENT_SECRET', 'AZURE_FEDERATED_TOKEN_FILE', 'IDENTITY_HEADER']],
]);

/**
 * The variables that a valid config file references where a value may be a secret: everywhere except in names, addresses and
 * paths. The query of a host's address counts, the user and password of a proxy, and the whole address of a database. A
 * variable with the whole address of a proxy usually belongs to the environment, and the command of `run` may need it.
 */
export function secretVariables(configPath: string, environment: NodeJS.ProcessEnv): readonly string[] {
  return secretVariablesIn(readFileSync(configPath, 'utf8'), environment);
}

export function secretVariablesIn(text: string, environment: NodeJS.ProcessEnv): readonly string[] {
  const found = new Set<string>();
  const visit = (value: unknown, field: string): void => {
    if (typeof value === 'string') for (const name of namesIn(secretPart(value, field, environment))) found.add(name);
    else if (Array.isArray(value)) for (const each of value) visit(each, field);
    else if (isObject(value)) {
      if (value.api_key === undefined) {
        for (const key of [value.kind, value.auth]) for (const name of CREDENTIALS.get(key) ?? []) found.add(name);
      }
      for (const [name, each] of Object.entries(value)) visit(each, name);
    }
  };
  visit(parse(text), '');
  return [...found];
}

function secretPart(text: string, field: string, environment: NodeJS.ProcessEnv): string {
  if (OPEN_FIELDS.has(field)) return '';
  if (field === 'proxy') return /^\w+:\/\/[^/]*@/.exec(text)?.[0] ?? '';
  if (field === 'base_url') return /\?.*/s.exec(text)?.[0] ?? '';
  if (field === 'state') return isDatabase(text, environment) ? text : '';
  return text;
}

/** A variable may contain the whole address. */
function isDatabase(text: string, environment: NodeJS.ProcessEnv): boolean {
  const expanded = text.replace(REFERENCE, (_, name: string) => {
    const value = environment[name];
    return isSet(value) ? value.trim() : '';
  });
  return /^postgres(?:ql)?:/i.test(expanded);
}

function namesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map(([, name = '']) => name);
}
