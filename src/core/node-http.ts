/**
 * Node's `http` without its ES module wrapper. Importing a name from the wrapper makes Node
 * evaluate every export, one of which loads a bundled HTTP client that the gateway does not use: 22
 * ms and 16 MB (Node 26).
 */
import type { ClientRequest, RequestOptions } from 'node:http';

export const { createServer, request } = process.getBuiltinModule('node:http');

/** The same over TLS. Loaded when it is called: a gateway never does. */
export function requestTls(options: RequestOptions): ClientRequest {
  return process.getBuiltinModule('node:https').request(options);
}
