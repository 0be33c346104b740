/**
 * Finds, reads and checks the config file. Reports all problems at once, each with its line and
 * column.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { type Document, isMap, isNode, isPair, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type * as z from 'zod';
import { UserError } from '../core/errors.ts';
import { type AddProblem, buildConfig } from './build.ts';
import type { Config } from './config.ts';
import { type Variables, withEnvFile } from './env-file.ts';
import { checkFallbacks } from './fallbacks.ts';
import { configSchema } from './schema.ts';
import { validParts } from './valid-parts.ts';

const DEFAULT_FILE = 'config.yaml';
const VARIABLE = 'INF_GW_CONFIG';

/** What decides which file is read, and how it is read. */
export interface LoadOptions {
  /** The value of `--config`. */
  readonly path?: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
  /** The working directory. */
  readonly directory: string;
}

/** The file that `options` name, or the default one. */
export function configPath({ path, environment, directory }: LoadOptions): {
  readonly path: string;
  readonly presence: 'optional' | 'required';
} {
  const named = path ?? (environment[VARIABLE] || undefined);
  return {
    path: resolve(directory, named ?? DEFAULT_FILE),
    presence: named === undefined ? 'optional' : 'required',
  };
}

/** Loads the config. Throws a UserError with a line for each problem. */
export function loadConfig(options: LoadOptions): Config {
  const { path, presence } = configPath(options);
  const source = readSource(path, presence);
  if (source === undefined) return defaultConfig(options.directory);
  const shownPath = relative(options.directory, path).startsWith('..') ? path : relative(options.directory, path);
  const variables = withEnvFile(options.environment, dirname(path));
  return parseConfig(source.text, { ...variables, path, shownPath, modifiedAtS: source.modifiedAtS });
}

function readSource(
  path: string,
  presence: 'optional' | 'required',
): { text: string; modifiedAtS: number } | undefined {
  try {
    return { text: readFileSync(path, 'utf8'), modifiedAtS: Math.floor(statSync(path).mtimeMs / 1000) };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    if (code === 'ENOENT' && presence === 'optional') return undefined;
    throw new UserError(
      `cannot read the config file ${path} (${code}); set another path with --config or $${VARIABLE}`,
    );
  }
}

/** The config without a file: the defaults, and the mock provider. */
function defaultConfig(directory: string): Config {
  const parsed = configSchema.parse({
    providers: { mock: { kind: 'mock', models: { echo: { input: 0, output: 0 } } } },
  });
  const source = { path: undefined, modifiedAtS: 0, environment: {}, warnings: [], baseDirectory: directory };
  return buildConfig(parsed, source, () => {});
}

interface ParseOptions extends Variables {
  readonly path: string;
  readonly shownPath: string;
  readonly modifiedAtS: number;
}

function parseConfig(text: string, options: ParseOptions): Config {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems: { offset: number; message: string }[] = document.errors.map((error) => ({
    offset: error.pos[0],
    message: error.message,
  }));
  const addProblem: AddProblem = (path, message) => {
    const where = path.length === 0 ? '' : `${path.map(String).join('.')}: `;
    problems.push({ offset: offsetOf(document, path), message: where + message });
  };
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) === undefined) {
        problems.push({ offset: alias.range?.[0] ?? 0, message: `the alias *${alias.source} has no anchor` });
      }
    },
  });
  // A document with a duplicate key can be checked further; one with another YAML error cannot.
  const isReadable =
    document.errors.every((error) => error.code === 'DUPLICATE_KEY') && problems.length === document.errors.length;
  const config = isReadable ? checkDocument(document, options, addProblem) : undefined;
  if (config !== undefined && problems.length === 0) return config;
  const located = problems
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => {
      const { line, col } = lines.linePos(offset);
      return `${options.shownPath}:${line}:${col}: ${message}`;
    });
  throw new UserError(located);
}

function checkDocument(document: Document.Parsed, options: ParseOptions, addProblem: AddProblem): Config | undefined {
  const raw: unknown = document.toJS() ?? {};
  const result = configSchema.safeParse(raw);
  const { path, modifiedAtS, environment, warnings } = options;
  const source = { path, modifiedAtS, environment, warnings, baseDirectory: dirname(path) };
  if (result.success) {
    checkFallbacks(result.data, raw, addProblem);
    return buildConfig(result.data, source, addProblem);
  }
  for (const issue of result.error.issues) addIssue(issue, addProblem);
  // The rest is checked further, so that one run shows all problems.
  const valid = validParts(raw);
  checkFallbacks(valid, raw, addProblem);
  buildConfig(valid, source, addProblem);
  return undefined;
}

/** Records a problem that zod found, in the words of this program. */
function addIssue(issue: z.core.$ZodIssue, addProblem: AddProblem): void {
  switch (issue.code) {
    case 'unrecognized_keys':
      for (const key of issue.keys) addProblem([...issue.path, key], 'unknown key; config.example.yaml lists all keys');
      return;
    case 'invalid_key':
      for (const inner of issue.issues) addProblem(issue.path, inner.message);
      return;
    case 'invalid_type':
      addProblem(
        issue.path,
        issue.message.startsWith('expected') ? issue.message : `expected a ${describeType(issue.expected)}`,
      );
      return;
    default:
      addProblem(issue.path, issue.message);
  }
}

function describeType(expected: string): string {
  return expected === 'object' || expected === 'record' ? 'map' : expected;
}

/** The offset of the field at a path, or of the nearest enclosing field that is in the file. */
function offsetOf(document: Document.Parsed, path: PropertyKey[]): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const key of path) {
    if (isSeq(node)) {
      node = node.items[Number(key)];
      offset = isNode(node) ? (node.range?.[0] ?? offset) : offset;
      continue;
    }
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isPair(item) && String(item.key) === String(key));
    if (pair === undefined) break;
    if (isNode(pair.key)) offset = pair.key.range?.[0] ?? offset;
    node = pair.value;
  }
  return offset;
}
