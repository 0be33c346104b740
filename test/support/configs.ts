/** Loads config files from a directory of their own, or returns their problems. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { UserError } from '../../src/core/errors.ts';

export const directory = mkdtempSync(join(tmpdir(), 'inf-gw-config-'));
// Not when a test file ends: others in the same process use it as well.
process.once('exit', () => rmSync(directory, { recursive: true }));

export function load(text: string, environment: NodeJS.ProcessEnv = {}): Config {
  writeFileSync(join(directory, 'config.yaml'), text);
  return loadConfig({ environment, directory });
}

/** The problems of a config: the lines of the error, without the name of the file. */
export function problemsOf(text: string, environment: NodeJS.ProcessEnv = {}): readonly string[] {
  try {
    load(text, environment);
  } catch (error) {
    assert.ok(error instanceof UserError, `not a problem of the file, but an internal error: ${error}`);
    return error.lines.map((line) => line.replace(/^config\.yaml:/, ''));
  }
  return [];
}
