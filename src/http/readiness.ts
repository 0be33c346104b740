/** What health checks are told. */

export const HEALTHZ = '/healthz';
export const READYZ = '/readyz';

/** The status and the JSON of an answer. */
export interface Health {
  readonly status: number;
  readonly body: string;
}

/** The process is alive. */
export function healthy(): Health {
  return { status: 200, body: '{"status":"ok"}' };
}

/** Whether requests should come here. `storageFault`: why the state cannot be written. */
export function readiness(isDraining: boolean, storageFault: string | undefined): Health {
  const status = isDraining ? 'draining' : storageFault === undefined ? 'ready' : 'storage_fault';
  return { status: status === 'ready' ? 200 : 503, body: JSON.stringify({ status }) };
}
