/** The parser on machines of all kinds, and what it leaves behind. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { HttpParser } from '../../../src/http/llhttp.ts';

const PARSER = new URL('../../../src/http/llhttp.ts', import.meta.url).href;

test('a processor without the instructions for vectors can run it', { skip: process.arch !== 'x64' }, () => {
  const script = `import { HttpParser } from ${JSON.stringify(PARSER)};
    console.log(new HttpParser(16_384).execute(Buffer.from('GET /a HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n')).head.url);`;
  const flags = ['--no-enable-ssse3', '--no-enable-sse4-1', '--input-type=module'];
  assert.equal(execFileSync(process.execPath, [...flags, '-e', script], { encoding: 'utf8' }), '/a\n');
});

// biome-ignore lint/suspicious/noExplicitAny: Node's types lack WebAssembly
const { Module } = (globalThis as any).WebAssembly;

for (const name of ['llhttp_simd-wasm.js', 'llhttp-wasm.js']) {
  test(`undici has ${name} at its private path, with the functions that the parser calls`, () => {
    const module = new Module(createRequire(PARSER)(`undici/lib/llhttp/${name}`));
    const names = (list: { readonly name: string }[]) => new Set(list.map((each) => each.name));
    const text = readFileSync(new URL(PARSER), 'utf8');
    const called = text.match(/\b(?:malloc|_initialize|llhttp_[a-z_]+)(?=\()/g) ?? [];
    assert.ok(called.length > 10);
    assert.deepEqual(
      called.filter((each) => !names(Module.exports(module)).has(each)),
      [],
    );
    const given = new Set(text.match(/\bwasm_on_\w+/g));
    assert.deepEqual(names(Module.imports(module)), given);
  });
}

test('a value of a large head that is kept does not keep the head', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const parser = new HttpParser(16 * 1024);
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nUser-Agent: ${'a'.repeat(20)}\r\nX: ${'x'.repeat(15_000)}\r\n\r\n`);
  const read = () => parser.execute(bytes).head?.rawHeaders[1];
  read();
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = Array.from({ length: 1_000 }, read);
  collect();
  const bytesEach = (process.memoryUsage().heapUsed - before) / kept.length;
  parser.free();
  assert.ok(bytesEach < 2_000, `${bytesEach} bytes each`);
});
