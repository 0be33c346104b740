/** Audits one state file in a thread of its own, and says how far it is. */
import { parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import { audit } from './audit.ts';
import type { Check } from './checks.ts';

/** What the thread says. `refused`: the lines of a UserError, which would lose them on its way. */
export type AuditNews =
  | { readonly kind: 'progress'; readonly read: number; readonly of: number }
  | { readonly kind: 'done'; readonly checks: readonly Check[] }
  | { readonly kind: 'refused'; readonly lines: readonly string[] };

function tell(news: AuditNews): void {
  parentPort?.postMessage(news);
}

try {
  const onProgress = (read: number, of: number) => tell({ kind: 'progress', read, of });
  tell({ kind: 'done', checks: audit(workerData as string, { onProgress }) });
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  tell({ kind: 'refused', lines: error.lines });
}
