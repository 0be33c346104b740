/** Requests that a key may send, for tests of what is planned for them. */
import type { ModelRequest } from '../../src/dialects/dialect.ts';
import type { Permitted } from '../../src/proxy/plan.ts';

/** One that names its model by its id, and has no headers for the host. */
export function permittedAs(request: ModelRequest, targets: Permitted['targets']): Permitted {
  return { request, headers: {}, user: '', alias: undefined, targets };
}
