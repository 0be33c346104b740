/** The line of the log for a model that is in the config, and not found because its provider was left out. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ClientError } from '../core/errors.ts';
import type { Log } from '../observe/log.ts';

/** Logs why `id` was not found, if the config has it. The client does not learn what is in the config. */
export function logLeftOut(
  { catalog, log }: { readonly catalog: Catalog; readonly log: Log },
  requestId: string,
  error: ClientError,
  id: string | undefined,
): void {
  if (error.code !== 'model_not_found' || id === undefined) return;
  const variable = catalog.missingVariableOf(id);
  if (variable === undefined) return;
  log.warn({ request_id: requestId, model: id }, `${requestId} ${id}: left out: ${variable} is not set`);
}
