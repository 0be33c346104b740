/** Finds, reads and checks the config file. All problems are reported at once, each with its line and column. */
import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { UserError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { program } from '../core/program.ts';
import { buildConfig } from './build.ts';
import type { Config } from './config.ts';
import { addIssue, type Problems, readDocument } from './document.ts';
import { type Variables, withEnvFile } from './env-file.ts';
import { checkModelReferences } from './model-references.ts';
import { NO_PRICES, type PriceSource, readPriceFile } from './price-file.ts';
import { configSchema } from './schema.ts';
import { hiddenIssues, validParts } from './valid-parts.ts';

const DEFAULT_FILE = 'config.yaml';
const VARIABLE = 'INF_GW_CONFIG';

/** The options for finding and reading the file. */
export interface LoadOptions {
  /** The value of `--config`. */
  readonly path?: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
  /** The working directory. */
  readonly directory: string;
  /** Whether to ignore the price file that the config includes. */
  readonly withoutPrices?: boolean;
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

/** Loads the config. Throws a UserError with a line per problem. */
export function loadConfig(options: LoadOptions): Config {
  const { path, presence } = configPath(options);
  const source = readSource(path, presence);
  if (source === undefined) return defaultConfig(options.directory);
  const shownPath = relative(options.directory, path).startsWith('..') ? path : relative(options.directory, path);
  const variables = withEnvFile(options.environment, dirname(path));
  const readPrices = options.withoutPrices !== true;
  return parseConfig(source.text, { ...variables, path, shownPath, modifiedAtS: source.modifiedAtS, readPrices });
}

function readSource(
  path: string,
  presence: 'optional' | 'required',
): { text: string; modifiedAtS: number } | undefined {
  try {
    const bytes = readFileSync(path);
    if (!isUtf8(bytes)) throw new UserError(`the config file ${path} is not UTF-8 text; save it in that encoding`);
    return { text: bytes.toString(), modifiedAtS: Math.floor(statSync(path).mtimeMs / 1000) };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    if (code === 'ENOENT' && presence === 'optional') return undefined;
    throw new UserError(
      `cannot read the config file ${path} (${code}); set another path with --config or $${VARIABLE}`,
    );
  }
}

/** The config without a file: the defaults and the mock provider. */
function defaultConfig(directory: string): Config {
  const parsed = configSchema.parse({
    providers: { mock: { kind: 'mock', models: { echo: { input: 0, output: 0 } } } },
  });
  const source = {
    path: undefined,
    modifiedAtS: 0,
    environment: {},
    warnings: [],
    baseDirectory: directory,
    prices: NO_PRICES,
  };
  return buildConfig(parsed, source, () => {});
}

/** A config without a file, with relative paths based on `directory`. Throws a UserError as `loadConfig` does. */
export function parseWithoutFile(text: string, environment: NodeJS.ProcessEnv, directory: string): Config {
  const path = resolve(directory, DEFAULT_FILE);
  const source = {
    path,
    shownPath: 'the built-in config',
    modifiedAtS: 0,
    readPrices: false,
    environment,
    warnings: [],
  };
  return { ...parseConfig(text, source), path: undefined };
}

interface ParseOptions extends Variables {
  readonly path: string;
  readonly shownPath: string;
  readonly modifiedAtS: number;
  readonly readPrices: boolean;
}

function parseConfig(text: string, options: ParseOptions): Config {
  return readDocument({ text, shownPath: options.shownPath }, (raw, problems) => checkConfig(raw, options, problems));
}

function checkConfig(raw: unknown, options: ParseOptions, problems: Problems): Config | undefined {
  const { path, modifiedAtS, environment, warnings } = options;
  const baseDirectory = dirname(path);
  const prices = pricesOf(raw, options, problems);
  const source = { path, modifiedAtS, environment, warnings, baseDirectory, prices };
  const result = configSchema.safeParse(raw);
  if (result.success) {
    checkModelReferences(result.data, raw, problems.add);
    return buildConfig(result.data, source, problems.add);
  }
  for (const issue of [...result.error.issues, ...hiddenIssues(raw)]) addIssue(issue, problems.add);
  // The remaining fields are checked as well, so that one run reports all problems.
  const valid = validParts(raw);
  checkModelReferences(valid, raw, problems.add);
  buildConfig(valid, source, problems.add);
  return undefined;
}

/** The price file that a config includes. */
function pricesOf(raw: unknown, { path, shownPath, readPrices }: ParseOptions, problems: Problems): PriceSource {
  const named = isObject(raw) ? raw.prices : undefined;
  if (typeof named !== 'string' || named === '') return NO_PRICES;
  const pricePath = resolve(dirname(path), named);
  if (!readPrices) return { path: pricePath, file: undefined };
  try {
    const shown = isAbsolute(named) ? named : join(dirname(shownPath), named);
    const file = readPriceFile(pricePath, shown);
    if (file === undefined) {
      problems.add(['prices'], `there is no price file ${pricePath}; write it with \`${program()} prices import\``);
    }
    return { path: pricePath, file };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    problems.addIncluded(error.lines);
    return { path: pricePath, file: undefined };
  }
}
