/** Which test files are the check (`npm test`), and which the proof (`npm run prove`). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** The command that runs a test. */
export type Tier = 'check' | 'proof';

/**
 * Folders of what takes whole processes, real ends of them, several databases, many terminals or long waits. What is
 * in none of them is the check.
 */
const PROOF: ReadonlySet<string> = new Set([
  ...['nodes', 'retention', 'disks', 'crash', 'packaging', 'takeover', 'streams', 'hostile', 'hostile-dialects'],
  ...['races', 'secrets', 'fuzz', 'slow-readers', 'writers', 'run', 'deploy', 'faults', 'workers', 'control'],
  ...['hardening', 'clients', 'failover', 'census'],
]);
/** Files of other folders. One terminal is in the check, and so are some histories of the simulated ledger. */
const PROOF_FILES = [
  /^test\/tui\/(?:terminal-(?!actions)|shared-session|slow-state)/,
  /^test\/world\/histories/,
  /^test\/ledger\/shared-proof/,
  // Real processes: their signals under npm, and their end without one.
  /^test\/cli\/(?:npm|serve-stop|processes)\.test/,
  // On both stores, on a database that several gateways share, and on the way from one store to the other.
  /^test\/(?:cli\/(?:levels|shared-state|state-(?:grant|migrate))|state\/(?:database|kept-responses)|postgres\/refused)\.test/,
  /^test\/audit\/database\.test/,
  // Writers beside a backup, restores that are killed, and a log of 64 MB.
  /^test\/state\/backups\.test|^test\/unit\/state\/log-bound\.test/,
  // The tests' own PostgreSQL.
  /^test\/postgres\/server\.test/,
];

export function isTier(name: string): name is Tier {
  return name === 'check' || name === 'proof';
}

/** By its path from the root of the project. */
export function folderOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function isProof(file: string): boolean {
  return PROOF.has(folderOf(file)) || PROOF_FILES.some((pattern) => pattern.test(file));
}

/** Files that are shorter in the check are in both tiers. */
function isShortened(file: string): boolean {
  return readFileSync(join(ROOT, file), 'utf8').includes('/support/at-length.ts');
}

/** A file can be in both. */
export function isIn(tier: Tier, file: string): boolean {
  return tier === 'proof' ? isProof(file) || isShortened(file) : !isProof(file);
}
