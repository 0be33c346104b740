/** Finds, reads and checks the config file. Every problem is reported at once, each by line and column. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { type Document, isMap, isNode, isPair, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { z } from 'zod';
import { UserError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { buildConfig, type Report } from './build.ts';
import type { Config } from './config.ts';
import { checkFallbacks } from './fallbacks.ts';
import { configSchema, type ParsedConfig, providerSchema } from './schema.ts';

const DEFAULT_FILE = 'config.yaml';
const VARIABLE = 'INF_GW_CONFIG';

/** Where the words and the surroundings of the program come from. */
export interface LoadOptions {
  /** The value of `--config`. */
  readonly path?: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
}

/** Loads the config. Throws a UserError with one line for each problem. */
export function loadConfig(options: LoadOptions): Config {
  const named = options.path ?? (options.environment[VARIABLE] || undefined);
  const path = resolve(options.directory, named ?? DEFAULT_FILE);
  const source = readSource(path, named !== undefined);
  if (source === undefined) return defaultConfig(options.directory);
  const shownPath = relative(options.directory, path).startsWith('..') ? path : relative(options.directory, path);
  return parseConfig(source.text, { ...options, path, shownPath, modifiedAtS: source.modifiedAtS });
}

function readSource(path: string, required: boolean): { text: string; modifiedAtS: number } | undefined {
  try {
    return { text: readFileSync(path, 'utf8'), modifiedAtS: Math.floor(statSync(path).mtimeMs / 1000) };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    if (code === 'ENOENT' && !required) return undefined;
    throw new UserError(`cannot read the config file ${path} (${code}); name another with --config or $${VARIABLE}`);
  }
}

/** With no file at all: the defaults, and the mock provider alone. */
function defaultConfig(directory: string): Config {
  const parsed = configSchema.parse({
    providers: { mock: { kind: 'mock', models: { echo: { input: 0, output: 0 } } } },
  });
  const source = { path: undefined, modifiedAtS: 0, environment: {}, baseDirectory: directory };
  return buildConfig(parsed, source, () => {});
}

interface ParseOptions extends LoadOptions {
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
  const report = (path: PropertyKey[], message: string) => {
    const where = path.length === 0 ? '' : `${path.map(String).join('.')}: `;
    problems.push({ offset: offsetOf(document, path), message: where + message });
  };
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) === undefined) {
        problems.push({ offset: alias.range?.[0] ?? 0, message: `there is no anchor for the alias *${alias.source}` });
      }
    },
  });
  // A key that stands there twice leaves a document that can be read; other faults of the YAML do not.
  const isReadable =
    document.errors.every((error) => error.code === 'DUPLICATE_KEY') && problems.length === document.errors.length;
  const config = isReadable ? checkDocument(document, options, report) : undefined;
  if (config !== undefined && problems.length === 0) return config;
  const located = problems
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => {
      const { line, col } = lines.linePos(offset);
      return `${options.shownPath}:${line}:${col}: ${message}`;
    });
  throw new UserError(located);
}

function checkDocument(document: Document.Parsed, options: ParseOptions, report: Report): Config | undefined {
  const raw: unknown = document.toJS() ?? {};
  const result = configSchema.safeParse(raw);
  const { path, modifiedAtS, environment } = options;
  const source = { path, modifiedAtS, environment, baseDirectory: dirname(path) };
  if (result.success) {
    checkFallbacks(result.data, raw, report);
    return buildConfig(result.data, source, report);
  }
  for (const issue of result.error.issues) reportIssue(issue, report);
  // What is sound on its own is still checked further, so that its problems show in the same run.
  const sound = soundParts(raw);
  checkFallbacks(sound, raw, report);
  buildConfig(sound, source, report);
  return undefined;
}

/** The config with the defaults in place of every part that is not sound. */
function soundParts(raw: unknown): ParsedConfig {
  const fields = isObject(raw) ? raw : {};
  const sound: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    if (schema.safeParse(fields[name]).success) sound[name] = fields[name];
  }
  sound.tiers = isObject(fields.tiers) ? soundEntries(fields.tiers, (tiers) => ({ tiers }), {}) : undefined;
  const providers = isObject(fields.providers) ? fields.providers : {};
  sound.providers = Object.assign(
    {},
    ...Object.entries(providers).map(([name, provider]) =>
      soundEntries({ [name]: provider }, (entry) => ({ providers: entry }), soundProvider(provider)),
    ),
  );
  return configSchema.parse(sound);
}

/** Each entry if it is sound, else the substitute; nothing where its name is the fault. */
function soundEntries(
  entries: Record<string, unknown>,
  wrap: (entry: Record<string, unknown>) => unknown,
  substitute: unknown,
): Record<string, unknown> {
  const candidates = Object.entries(entries).flatMap(([name, value]) => [{ [name]: substitute }, { [name]: value }]);
  return Object.assign({}, ...candidates.filter((candidate) => configSchema.safeParse(wrap(candidate)).success));
}

/** What can be checked further of a provider that is not sound: its address, its key and its headers. */
function soundProvider(raw: unknown): unknown {
  const address = { base_url: 'http://stand-in' };
  const isList = isObject(raw) && raw.upstreams !== undefined;
  const stand = { kind: 'openai', models: {}, ...(isList ? { upstreams: [address] } : address) };
  if (!isObject(raw) || raw.kind !== 'openai') return stand;
  const names = [...(isList ? ['upstreams'] : ['base_url', 'api_key']), 'headers', 'models'];
  const fields = names.map((name) => ({ [name]: raw[name] }));
  return Object.assign(stand, ...fields.filter((field) => providerSchema.safeParse({ ...stand, ...field }).success));
}

function reportIssue(issue: z.core.$ZodIssue, report: Report): void {
  switch (issue.code) {
    case 'unrecognized_keys':
      for (const key of issue.keys)
        report([...issue.path, key], 'unknown key; see config.example.yaml for those there are');
      return;
    case 'invalid_key':
      for (const inner of issue.issues) report(issue.path, inner.message);
      return;
    case 'invalid_type':
      report(
        issue.path,
        issue.message.startsWith('expected') ? issue.message : `expected a ${describeType(issue.expected)}`,
      );
      return;
    default:
      report(issue.path, issue.message);
  }
}

function describeType(expected: string): string {
  return expected === 'object' || expected === 'record' ? 'map' : expected;
}

/** The offset of a path's own key, or of the nearest thing above it that stands in the file. */
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
