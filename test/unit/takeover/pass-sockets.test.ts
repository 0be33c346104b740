/**
 * What passing a listening socket takes of Node and is not documented. A Node without it fails here, and takes over from
 * no other process. That sockets are passed is in `test/takeover/`.
 */
import assert from 'node:assert/strict';
import childProcess from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { UserError } from '../../../src/core/errors.ts';
import { fdOf, receiveSockets, sendSockets } from '../../../src/takeover/pass-sockets.ts';

const node = childProcess as { _forkChild?: unknown };

describe(`Node ${process.versions.node} can pass listening sockets`, () => {
  let server: Server;
  let connection: Socket;

  before(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    connection = createConnection(port, '127.0.0.1');
    await once(connection, 'connect');
  });

  after(() => {
    connection.destroy();
    server.close();
  });

  test('since it has child_process._forkChild, which takes a descriptor and how messages are written', () => {
    assert.equal(typeof node._forkChild, 'function');
    assert.equal((node._forkChild as (...values: unknown[]) => void).length, 2);
  });

  test('since servers and sockets have a _handle with their descriptor', () => {
    for (const each of [server, connection]) assert.ok(fdOf(each) > 2);
    assert.notEqual(fdOf(server), fdOf(connection));
  });

  test('and without that function both sides say so, and nothing has changed', async () => {
    const [{ _forkChild: own }, { connected }] = [node, process];
    node._forkChild = undefined;
    try {
      const isNamed = (error: Error) =>
        error instanceof UserError && /_forkChild.*stop the gateway/.test(error.message);
      await assert.rejects(sendSockets(connection, [server]), isNamed);
      await assert.rejects(receiveSockets(connection, 1), isNamed);
    } finally {
      node._forkChild = own;
    }
    assert.equal(process.connected, connected);
    assert.equal(connection.destroyed, false);
    assert.equal(server.listening, true);
  });
});
