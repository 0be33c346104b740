/** The audit of a state file for whoever must go on meanwhile: it can be watched, and given up. */
import { UserError } from '../core/errors.ts';
import { startThread } from '../core/threads.ts';
import type { AuditOptions, Check } from './checks.ts';
import type { AuditNews } from './thread.ts';

/**
 * As `audit`, in a thread. Nothing else in this process may have the file open. Rejects with a
 * UserError, and with the signal's reason once that is aborted.
 */
export async function auditInThread(
  path: string,
  { onProgress, signal }: AuditOptions & { readonly signal: AbortSignal },
): Promise<readonly Check[]> {
  signal.throwIfAborted();
  const thread = startThread('audit/thread', { workerData: path });
  const { promise, resolve, reject } = Promise.withResolvers<readonly Check[]>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener('abort', giveUp);
  thread.on('message', (news: AuditNews) => {
    switch (news.kind) {
      case 'progress':
        return onProgress(news.read, news.of);
      case 'done':
        return resolve(news.checks);
      case 'refused':
        return reject(new UserError(news.lines));
    }
  });
  thread.once('error', reject);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', giveUp);
    await thread.terminate();
  }
}
