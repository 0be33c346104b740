/** Without `otel` in the config there are no traces: nothing of them is loaded, and no header is passed on. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { THREADS } from '../../src/core/threads.ts';
import { answering, completion } from '../support/answers.ts';
import { chat, withGateway } from '../support/gateway.ts';

const DIST = join(import.meta.dirname, '../../dist');
/** Of a static import: a dynamic one has a parenthesis. */
const IMPORT = /(?:^|[;}\s])(?:import|export)\s*(?:[^'"();]*?\s*from\s*)?["'](\.[^"']+)["']/g;
/** What the JSON of every export begins with. */
const OTLP = 'resourceSpans';

/** The files that the program loads before it knows its config. */
function loadedWith(path: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(IMPORT)) {
    const file = join(dirname(path), target);
    if (existsSync(file)) loadedWith(file, loaded);
  }
  return loaded;
}

test('the built program loads nothing of traces by itself', () => {
  const worker = join(DIST, 'gateway/worker-thread.js');
  const entries = ['cli/main', 'cli/serve-main', ...THREADS].map((name) => join(DIST, `${name}.js`));
  const loaded = new Set(entries.flatMap((entry) => [...loadedWith(entry)]));
  assert.ok(loadedWith(worker).size > 3, 'imports are found');
  assert.deepEqual(
    [...loaded].filter((path) => readFileSync(path, 'utf8').includes(OTLP)),
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
