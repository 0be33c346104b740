/** The large state files for measurements: consistent, as a gateway would have left them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeLargeState } from '../../bench/scale/large-state.ts';
import { auditElsewhere } from '../support/auditor.ts';

test('a generated state file passes the audit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-large-state-'));
  try {
    const path = join(folder, 'state.db');
    makeLargeState(path, { keys: 5, rows: 500 }, () => {});
    const checks = await auditElsewhere(path);
    assert.ok(checks.length > 0);
    assert.deepEqual(
      checks.flatMap(({ differences }) => differences),
      [],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
