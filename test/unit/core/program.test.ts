/** Commands of this program as its messages name them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandLine } from '../../../src/core/program.ts';

test('a command with a config can be typed as it is, whatever its path has', () => {
  const path = "/srv/our gateway's/config.yaml";
  assert.match(commandLine('serve', path), / serve --config '\/srv\/our gateway'\\''s\/config\.yaml'$/);
  assert.match(commandLine('serve', '/etc/inf-gw/config.yaml'), / serve --config \/etc\/inf-gw\/config\.yaml$/);
});
