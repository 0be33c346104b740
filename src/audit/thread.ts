/** Worker thread that audits one state file and reports its progress. */
import { parentPort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { audit } from './audit.ts';
import type { AuditOptions, Check } from './checks.ts';

export interface AuditCalls {
  /** Rejects with a UserError. */
  audit(path: string): Promise<readonly Check[]>;
}

if (parentPort !== null) {
  const port = new Port<AuditCalls, AuditOptions>(parentPort, 'the caller of the audit');
  port.serve({ audit: async (path) => audit(path, { onProgress: (read, of) => port.tell('onProgress', read, of) }) });
}
