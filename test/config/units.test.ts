/**
 * Durations, sizes and listen addresses in the config: every valid form, and similar invalid ones.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDays, parseDuration, parseListen, parseMemory, parseSize } from '../../src/config/units.ts';

const DURATIONS: readonly (readonly [text: string, ms: number | undefined])[] = [
  ['500ms', 500],
  ['1ms', 1],
  ['10s', 10_000],
  ['1.5s', 1_500],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['596h', 2_145_600_000],
  ['597h', undefined],
  ['0s', undefined],
  ['0.4ms', undefined],
  ['10', undefined],
  ['10 s', undefined],
  ['-1s', undefined],
  ['1d', undefined],
  ['10S', undefined],
  ['1e3s', undefined],
  ['1.s', undefined],
  ['.5s', undefined],
  ['1h30m', undefined],
  ['', undefined],
];

test('a duration is a number with a unit, from 1 ms to 24 days', () => {
  for (const [text, ms] of DURATIONS) assert.equal(parseDuration(text), ms, text);
});

const DAYS: readonly (readonly [text: string, ms: number | undefined])[] = [
  ['1d', 86_400_000],
  ['90d', 7_776_000_000],
  ['99999d', 8_639_913_600_000],
  ['0d', undefined],
  ['00d', undefined],
  ['100000d', undefined],
  ['1.5d', undefined],
  ['-1d', undefined],
  ['1h', undefined],
  ['1D', undefined],
  ['90', undefined],
  ['90 d', undefined],
  ['d', undefined],
  ['', undefined],
];

test('a time in days is a whole number, at least one', () => {
  for (const [text, ms] of DAYS) assert.equal(parseDays(text), ms, text);
});

const MEMORIES: readonly (readonly [text: string, bytes: number | undefined])[] = [
  ['64mb', 67_108_864],
  ['2gb', 2_147_483_648],
  ['2GB', 2_147_483_648],
  ['63mb', undefined],
  ['0gb', undefined],
  ['1024kb', undefined],
  ['2 gb', undefined],
  ['2', undefined],
  ['1.5gb', undefined],
  ['', undefined],
];

test('an amount of memory is a whole number of megabytes or gigabytes, at least 64 MB', () => {
  for (const [text, bytes] of MEMORIES) assert.equal(parseMemory(text), bytes, text);
});

const SIZES: readonly (readonly [text: string, bytes: number | undefined])[] = [
  ['1kb', 1024],
  ['512kb', 524_288],
  ['32mb', 33_554_432],
  ['32MB', 33_554_432],
  ['256mb', 268_435_456],
  ['257mb', undefined],
  ['262145kb', undefined],
  ['0kb', undefined],
  ['32', undefined],
  ['32 mb', undefined],
  ['1.5mb', undefined],
  ['32m', undefined],
  ['1gb', undefined],
  ['-1kb', undefined],
  ['', undefined],
];

test('a size is a whole number of kb or mb, which are powers of two', () => {
  for (const [text, bytes] of SIZES) assert.equal(parseSize(text), bytes, text);
});

const ADDRESSES: readonly (readonly [text: string, address: { host: string; port: number } | undefined])[] = [
  ['127.0.0.1:8787', { host: '127.0.0.1', port: 8787 }],
  ['0.0.0.0:1', { host: '0.0.0.0', port: 1 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:8787', { host: '::1', port: 8787 }],
  ['[::]:65535', { host: '::', port: 65_535 }],
  ['127.0.0.1:65536', undefined],
  ['127.0.0.1:', undefined],
  ['127.0.0.1', undefined],
  ['8787', undefined],
  [':8787', undefined],
  ['::1:8787', undefined],
  ['[]:8787', undefined],
  ['http://127.0.0.1:8787', undefined],
  ['127.0.0.1:-1', undefined],
  ['local host:8787', undefined],
  ['', undefined],
];

test('a listen address is a host and a port, with brackets around an IPv6 address', () => {
  for (const [text, address] of ADDRESSES) assert.deepEqual(parseListen(text), address, text);
});
