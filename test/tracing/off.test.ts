/** Without `otel` in the config there are no traces: nothing of them is loaded, and no header is passed on. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { THREADS } from '../../src/core/threads.ts';
import { answering, completion } from '../support/answers.ts';
import { chat, withGateway } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../../src');
/** Of a static import, except of types: a dynamic one has a parenthesis. */
const IMPORT = /^(?:import|export)\s(?!type\s)(?:[^'();=]*?\sfrom\s)?'(\.[^']+)'/gm;

/** The modules that are loaded with this one, however they are bundled. */
function loadedWith(path: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(IMPORT)) {
    loadedWith(join(dirname(path), target), loaded);
  }
  return loaded;
}

test('the program loads nothing of traces by itself', () => {
  const entries = ['cli/main', 'cli/serve-main', 'gateway/serve', 'gateway/worker', ...THREADS];
  const loaded = new Set(entries.flatMap((entry) => [...loadedWith(join(ROOT, `${entry}.ts`))]));
  assert.ok(loaded.has(join(ROOT, 'proxy/pipeline.ts')), 'imports are found');
  assert.deepEqual(
    [...loaded].filter((path) => path.startsWith(join(ROOT, 'tracing'))),
    [],
  );
});

test('an upstream gets no header of a trace, also where the client sends some', () =>
  withGateway({}, async (gateway) => {
    gateway.upstream.follow(answering(completion('hi')));
    const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1', baggage: 'a=1' };
    assert.equal((await gateway.complete(gateway.key(), chat(), { headers })).status, 200);
    const names = (await gateway.upstream.call()).headerLines.map(([name]) => name.toLowerCase());
    assert.deepEqual(
      names.filter((name) => Object.hasOwn(headers, name)),
      [],
    );
  }));
