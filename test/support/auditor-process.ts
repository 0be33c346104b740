/** Audits files on request, over IPC. */
import { audit } from '../../src/audit/audit.ts';

process.on('message', (path: string) => {
  process.send?.(audit(path, { onProgress: () => {} }));
});
