/**
 * Node's `http` without its ES module wrapper. Importing a name from the wrapper makes Node
 * evaluate every export, one of which loads a bundled HTTP client that the gateway does not use: 22
 * ms and 16 MB (Node 26).
 */
import type { ClientRequest } from 'node:http';
import type { RequestOptions } from 'node:https';

export const { Agent, request, STATUS_CODES } = process.getBuiltinModule('node:http');

/** The same over TLS, loaded on first use: most gateways never need it. */
export function requestTls(options: RequestOptions): ClientRequest {
  return process.getBuiltinModule('node:https').request(options);
}
