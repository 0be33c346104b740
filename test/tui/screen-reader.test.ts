/** For a screen reader each view is text, without the signs of charts, and figures do not change by themselves. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { render } from 'ink';
import { createElement } from 'react';
import { Dashboard } from '../../src/tui/components/dashboard.ts';
import { isSameToReader } from '../../src/tui/components/use-model.ts';
import { type Model, VIEWS } from '../../src/tui/model.ts';
import { after, NOW_MS, press, SNAPSHOT, serving } from './samples.ts';
import { VirtualScreen } from './virtual-screen.ts';

async function read(model: Model): Promise<string> {
  const terminal = new VirtualScreen({ columns: 400, rows: 60 });
  const stdout = terminal as unknown as NodeJS.WriteStream;
  const options = { stdout, patchConsole: false, interactive: true, isScreenReaderEnabled: true };
  const app = render(createElement(Dashboard, { model }), options);
  await app.waitUntilRenderFlush();
  const text = terminal.text();
  app.unmount();
  await app.waitUntilExit();
  return text;
}

describe('a screen reader reads', () => {
  for (const view of VIEWS) {
    test(`${view} without bars and charts`, async () => {
      const text = await read(serving(view));
      assert.doesNotMatch(text, /[▀-▟⠀-⣿]/);
      assert.match(text, /inf-gw 0\.1\.0 ● serving/);
    });
  }

  test('rows with the names of their columns, and of a chart its figures', async () => {
    assert.match(await read(serving('keys')), /name ↑: web-app, state: enabled, budget \(usd\): 17\.00\/20\.00 month/);
    assert.match(await read(serving()), /^requests\/s 8\.1 max 9\.4 first byte p50 ≤136ms p99 ≤1\.0s$/m);
  });

  test('a dialog alone', async () => {
    const text = await read(press(serving('keys'), 'd').model);
    assert.match(text, /^Disable batch-jobs\?/m);
    assert.doesNotMatch(text, /web-app/);
  });
});

test('new figures are not read out, and the answer to a key is', () => {
  const model = serving('keys');
  const later = after(model, { kind: 'snapshot', snapshot: { ...SNAPSHOT, now_ms: NOW_MS + 1_000 } });
  assert.equal(isSameToReader(model, later), true);
  for (const key of ['down', '?', '3', '/']) assert.equal(isSameToReader(model, press(model, key).model), false, key);
});
