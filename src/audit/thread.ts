/** Audits one state file in a thread of its own, and says how far it is. */
import { parentPort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { audit } from './audit.ts';
import type { AuditOptions, Check } from './checks.ts';

export interface AuditCalls {
  /** Rejects with a UserError. */
  audit(path: string): Promise<readonly Check[]>;
}

if (parentPort !== null) {
  const port = new Port<AuditCalls, AuditOptions>(parentPort, 'whoever audits');
  port.serve({ audit: async (path) => audit(path, { onProgress: (read, of) => port.tell('onProgress', read, of) }) });
}
