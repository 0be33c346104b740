/** Audits a state file in a thread, so that the caller can go on: it reports its progress and can be cancelled. */
import { Port } from '../core/port.ts';
import { startThread } from '../core/threads.ts';
import type { AuditOptions, Check } from './checks.ts';
import type { AuditCalls } from './thread.ts';

/** Like `audit`, but in a worker thread. Rejects with a UserError, or with the signal's reason after an abort. */
export async function auditInThread(
  path: string,
  { onProgress, signal }: AuditOptions & { readonly signal: AbortSignal },
): Promise<readonly Check[]> {
  signal.throwIfAborted();
  const thread = startThread('audit/thread');
  const port = new Port<AuditOptions, AuditCalls>(thread, 'the thread of the audit').serve({ onProgress });
  const giveUp = () => port.end(signal.reason);
  signal.addEventListener('abort', giveUp);
  try {
    return await port.call('audit', path);
  } finally {
    signal.removeEventListener('abort', giveUp);
    await thread.terminate();
  }
}
