/** What an earlier process has left open: requests are charged as held, counts of tokens just end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InheritedRequests } from '../../../src/ledger/inherited.ts';
import type { Answer, ClientPort, Command } from '../../../src/ledger/protocol.ts';

const port = {} as ClientPort;
const decided = (command: Command, answer: object = {}) => ({
  ticket: 1,
  command,
  port,
  answer: answer as Answer,
});
const count = (countId: string): Command => ({ kind: 'admit_listing', keyHash: '', countId });

test('what a process has left open is ended as what it is, and only requests are handed over', () => {
  const inherited = new InheritedRequests();
  inherited.add(port, ['r1', 'r2']);
  inherited.follow([
    decided({ kind: 'admit', request: { requestId: 'r3' } as never }, { admitted: true }),
    decided({ kind: 'admit', request: { requestId: 'r4' } as never }, { admitted: false }),
    decided(count('c1'), { kind: 'admitted' }),
    decided(count('c2'), { kind: 'admitted' }),
    decided(count('c3'), { kind: 'busy' }),
    decided({ kind: 'settle', settlement: { requestId: 'r1' } as never }),
    decided({ kind: 'end_count', countId: 'c1' }),
  ]);
  assert.deepEqual(
    inherited.handOver(() => 7),
    [{ port: 7, requestIds: ['r2', 'r3'] }],
  );
  inherited.close(port);
  assert.deepEqual(
    inherited.takeOrphans(() => false),
    [
      { kind: 'charge_held', requestId: 'r2' },
      { kind: 'charge_held', requestId: 'r3' },
      { kind: 'end_count', countId: 'c2' },
    ],
  );
});
