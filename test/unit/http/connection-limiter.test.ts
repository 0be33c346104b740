/** The connections from one address, which a test on one machine has no others for. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { ConnectionLimiter } from '../../../src/http/connection-limiter.ts';

class Connection extends EventEmitter {
  isOpen = true;
  readonly remoteAddress: string;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  destroy(): void {
    this.isOpen = false;
    this.emit('close');
  }
}

/** Opens a connection from each of these addresses in turn, and says which are still open. */
function openAfter(maxPerSource: number | undefined, ...addresses: readonly string[]): readonly boolean[] {
  const limiter = new ConnectionLimiter({ max: 10, maxPerSource }, { isBusy: () => false, onClosed: () => {} });
  const connections = addresses.map((address) => {
    const connection = new Connection(address);
    limiter.add(connection as unknown as Socket);
    return connection;
  });
  return connections.map(({ isOpen }) => isOpen);
}

describe('of connections from one address', () => {
  const [ONE, OTHER] = ['192.0.2.1', '2001:db8::1'];

  test('the oldest goes once there are more than may be', () => {
    assert.deepEqual(openAfter(2, ONE, OTHER, ONE, OTHER, ONE), [false, true, true, true, true]);
  });
  test('a network of 64 bits is one by IPv6', () => {
    const within = ['2001:db8::1', '2001:db8:0:0:ffff::2', '2001:db8:0:1::1'];
    assert.deepEqual(openAfter(1, ...within), [false, true, true]);
  });
  test('all stay if nothing bounds them', () => {
    assert.deepEqual(openAfter(undefined, ONE, ONE, ONE), [true, true, true]);
  });
  test('all stay if it is of this machine', () => {
    assert.deepEqual(openAfter(1, '127.0.0.1', '127.0.0.1', '::1', '::1'), [true, true, true, true]);
  });
});

test('one that is in use goes for no other from its address: that has to wait for room', () => {
  const limiter = new ConnectionLimiter({ max: 10, maxPerSource: 1 }, { isBusy: () => true, onClosed: () => {} });
  const [first, second] = [new Connection('192.0.2.1'), new Connection('192.0.2.1')];
  limiter.add(first as unknown as Socket);
  limiter.add(second as unknown as Socket);
  assert.ok(first.isOpen);
  assert.ok(limiter.isSurplus(second as unknown as Socket));
  first.destroy();
  assert.ok(!limiter.isSurplus(second as unknown as Socket));
  second.destroy();
});
