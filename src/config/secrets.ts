/** References in config values: `${NAME}` to an environment variable, `${file:/path}` to a file. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export type Expansion =
  | { readonly kind: 'value'; readonly value: string }
  /** The variable is not set, or blank. */
  | { readonly kind: 'unset'; readonly variable: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

const REFERENCE = /\$\{([^}]*)\}/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Expands every reference in `text`. Relative paths are resolved against `baseDirectory`. */
export function expandReferences(text: string, environment: NodeJS.ProcessEnv, baseDirectory: string): Expansion {
  let failed: Expansion | undefined;
  const value = text.replace(REFERENCE, (whole, reference: string) => {
    const expansion = reference.startsWith('file:')
      ? readSecretFile(resolve(baseDirectory, reference.slice('file:'.length)))
      : readVariable(reference, environment);
    if (expansion.kind === 'value') return expansion.value;
    failed ??= expansion;
    return whole;
  });
  return failed ?? { kind: 'value', value };
}

function readVariable(name: string, environment: NodeJS.ProcessEnv): Expansion {
  if (!VARIABLE.test(name)) {
    return { kind: 'unreadable', reason: `\${${name}} is neither a variable name nor file:/path` };
  }
  const value = environment[name];
  return typeof value !== 'string' || value.trim() === ''
    ? { kind: 'unset', variable: name }
    : { kind: 'value', value: value.trim() };
}

function readSecretFile(path: string): Expansion {
  try {
    const value = readFileSync(path, 'utf8').trim();
    return value === '' ? { kind: 'unreadable', reason: `the file ${path} is empty` } : { kind: 'value', value };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { kind: 'unreadable', reason: `cannot read the file ${path} (${code})` };
  }
}
