/** `version`: what is installed, for people and for programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../../src/core/program.ts';
import { Workplace } from '../support/cli.ts';

test('`version` shows the version, that of Node, the platform, and that this is a checkout', async (t) => {
  const place = new Workplace(t, null);
  const path = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
  const { platform, arch, versions } = process;
  assert.deepEqual(await place.json('version'), {
    version: VERSION,
    node: versions.node,
    platform,
    arch,
    installation: 'checkout',
    path,
  });
  const { stdout } = await place.run(['version']);
  assert.match(
    stdout,
    new RegExp(
      `^inf-gw +${VERSION}\nnode +${versions.node}\nplatform +${platform}-${arch}\ninstalled as +a checkout\n`,
    ),
  );
});
