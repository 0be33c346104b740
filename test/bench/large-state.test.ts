/** The large state files that things are measured on: as a gateway would have left them, so that the audit agrees. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeLargeState } from '../../bench/scale/large-state.ts';
import { auditElsewhere } from '../support/auditor.ts';

test('the books of a made-up state file agree', async () => {
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
