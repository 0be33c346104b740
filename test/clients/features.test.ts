/** The libraries of docs/clients.md do everything that its table says, with the real program on the mock. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { FEATURES } from './campaign/features.ts';
import { LIBRARIES } from './campaign/library-trials.ts';
import { startSite } from './campaign/site.ts';

const folder = mkdtempSync(join(tmpdir(), 'inf-gw-libraries-'));
const site = await startSite(folder);

after(async () => {
  await site.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const { title, tries } of LIBRARIES) {
  describe(title, () => {
    for (const feature of FEATURES) test(feature, () => tries[feature](site));
  });
}
