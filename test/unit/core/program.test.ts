/** Commands of this program as its messages name them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandLine } from '../../../src/core/program.ts';

test('a command with a config can be typed as it is, whatever its path has', () => {
  const path = "/srv/our gateway's/config.yaml";
  assert.match(commandLine(['serve'], path), / -c '\/srv\/our gateway'\\''s\/config\.yaml' serve$/);
  assert.match(commandLine(['serve'], '/etc/inf-gw/config.yaml'), / -c \/etc\/inf-gw\/config\.yaml serve$/);
  assert.match(commandLine(['keys', 'show', 'my app'], undefined), /inf-gw keys show 'my app'$/);
});
