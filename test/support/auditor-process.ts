/** Audits the files that it is asked about, over IPC. */
import { audit } from '../../src/audit/audit.ts';

process.on('message', (path: string) => {
  process.send?.(audit(path, { onProgress: () => {} }));
});
