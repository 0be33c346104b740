/** Expands references in config values: `${NAME}` to an environment variable, `${file:/path}` to a file. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export type Expansion =
  /** `hadBlanks`: whether the value had blanks around it, apart from the line break at the end of a file. */
  | { readonly kind: 'value'; readonly value: string; readonly hadBlanks: boolean }
  /** The variable is not set, or blank. */
  | { readonly kind: 'unset'; readonly variable: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** The base of references. */
export interface ReferenceSource {
  readonly environment: NodeJS.ProcessEnv;
  readonly baseDirectory: string;
}

/** A field with its references expanded; empty if one names a variable that is not set. */
export interface Expanded {
  readonly value: string;
  readonly hadBlanks: boolean;
  readonly missingVariable: string | undefined;
}

/** A `$` that was probably meant as a reference, such as `$NAME` or an unclosed `${NAME`. */
const MALFORMED_REFERENCE = /\$(?!\{[^}]*\})[A-Za-z_{]/;
const REFERENCE = /\$\{([^}]*)\}/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Expands the references in a field, and reports malformed and unreadable ones. */
export function expandField(
  text: string,
  { environment, baseDirectory }: ReferenceSource,
  report: (message: string) => void,
): Expanded {
  if (MALFORMED_REFERENCE.test(text)) report(`expected \${NAME} or \${file:/path}; this $ starts neither`);
  const expansion = expandReferences(text, environment, baseDirectory);
  switch (expansion.kind) {
    case 'value':
      return { value: expansion.value, hadBlanks: expansion.hadBlanks, missingVariable: undefined };
    case 'unset':
      return { value: '', hadBlanks: false, missingVariable: expansion.variable };
    case 'unreadable':
      report(expansion.reason);
      return { value: '', hadBlanks: false, missingVariable: undefined };
  }
}

/** Expands every reference in `text`. Relative paths are based on `baseDirectory`. */
export function expandReferences(text: string, environment: NodeJS.ProcessEnv, baseDirectory: string): Expansion {
  let failed: Expansion | undefined;
  let hadBlanks = false;
  const value = text.replace(REFERENCE, (whole, reference: string) => {
    const expansion = reference.startsWith('file:')
      ? readSecretFile(resolve(baseDirectory, reference.slice('file:'.length)))
      : readVariable(reference, environment);
    if (expansion.kind === 'value') {
      hadBlanks ||= expansion.hadBlanks;
      return expansion.value;
    }
    failed ??= expansion;
    return whole;
  });
  return failed ?? { kind: 'value', value, hadBlanks };
}

function readVariable(name: string, environment: NodeJS.ProcessEnv): Expansion {
  if (!VARIABLE.test(name)) {
    return { kind: 'unreadable', reason: `\${${name}} is neither a variable name nor file:/path` };
  }
  const value = environment[name];
  return isSet(value) ? trimmed(value) : { kind: 'unset', variable: name };
}

/** Whether a variable is set and not blank. The environment object also inherits properties from Object. */
export function isSet(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function readSecretFile(path: string): Expansion {
  try {
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return text.trim() === '' ? { kind: 'unreadable', reason: `the file ${path} is empty` } : trimmed(text);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { kind: 'unreadable', reason: `cannot read the file ${path} (${code})` };
  }
}

function trimmed(text: string): Expansion {
  const value = text.trim();
  return { kind: 'value', value, hadBlanks: value !== text };
}
