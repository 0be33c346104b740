/** What commands print on a terminal: pictures at several widths, and what holds at all of them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import stringWidth from 'string-width';
import { groupsTable } from '../../src/cli/group-view.ts';
import { keysTable } from '../../src/cli/key-view.ts';
import { requestsTable } from '../../src/cli/requests.ts';
import { usageTable } from '../../src/cli/usage.ts';
import { type Look, tableLines } from '../../src/operator/table.ts';
import { toAscii } from '../../src/operator/text.ts';
import { type GroupRecord, NO_LEVEL_TERMS } from '../../src/state/levels.ts';
import { drawPictures, keyRecords, lookAt, PICTURES, requestRecords, usageRows, WIDTHS } from './samples.ts';

const TIER = { rpm: 600, tpm: 2_000_000, concurrency: 60, modelsRpm: 6_000 };
const MANY = 500;

test('the pictures are as stored', () => {
  const stored = readFileSync(new URL('./pictures.txt', import.meta.url), 'utf8');
  assert.deepEqual(drawPictures().split('\n'), stored.split('\n'));
});

describe('on a terminal', () => {
  for (const [name, draw] of Object.entries(PICTURES)) {
    test(`no line of \`${name}\` is wider than it, from 20 columns on`, () => {
      for (let width = 20; width <= 180; width++) {
        for (const line of draw(lookAt(width))) assert.ok(stringWidth(line) <= width, `${width}: ${line}`);
      }
    });

    test(`\`${name}\` in ASCII is as wide as before`, () => {
      for (const line of draw(lookAt(80))) {
        assert.match(toAscii(line), /^[ -~]*$/);
        assert.equal(toAscii(line).length, stringWidth(line), line);
      }
    });
  }

  test('500 keys are all there, at every width', () => {
    for (const width of WIDTHS) {
      for (const draw of [PICTURES['keys list'], PICTURES['usage --by key'], PICTURES['requests list']]) {
        const lines = draw(lookAt(width), MANY);
        assert.ok(lines.length > MANY);
        for (const line of lines) assert.ok(stringWidth(line) <= width, `${width}: ${line}`);
      }
    }
  });

  test('groups stand below the one that they are in, further to the right; a file has a column for that', () => {
    const group = (name: string, groupId: string | null): GroupRecord => ({
      ...{ ...NO_LEVEL_TERMS, id: `grp_${name}`, name, groupId, state: 'enabled', allowlist: null },
      ...{ userLimits: null, createdAtMs: 0 },
    });
    // The order of creation: a group may have been put into a later one.
    const groups = [group('nlp', 'grp_lab'), group('shop', null), group('lab', null), group('deep', 'grp_nlp')];
    const levels = new Map(groups.map((record) => [record.id, { record, spends: [], bounds: [] }]));
    const figures = { groups, levels, months: new Map(), spends: new Map(), keys: new Map([['grp_nlp', 3]]) };
    const names = (look: Look, columns: number) =>
      tableLines(groupsTable(figures, look, 0), look)
        .slice(1)
        .map((line) => line.slice(0, columns).trimEnd());
    assert.deepEqual(names(lookAt(160), 8), ['shop', 'lab', '  nlp', '    deep']);
    assert.deepEqual(
      names({ ...lookAt(160), room: undefined }, 11).map((line) => line.split(/ +/)),
      [
        ['shop', '-'],
        ['lab', '-'],
        ['nlp', 'lab'],
        ['deep', 'nlp'],
      ],
    );
  });

  test('a table without rows has a head', () => {
    const look = lookAt(160);
    const none = { months: new Map<string, never>(), levels: new Map() };
    assert.match(tableLines(keysTable([], none, TIER, look, 0), look).join('\n'), /^NAME {2}ID .* MODELS$/);
    assert.match(tableLines(requestsTable([], false, look), look).join('\n'), /^AT \(UTC\) .* ID$/);
    assert.equal(
      tableLines(usageTable([], ['key'], look), look).at(-1),
      'TOTAL         0       0          0           0       0        0.00   100%',
    );
  });

  test('a state has a sign, and a colour around nothing but itself', () => {
    const look = lookAt(160, true);
    const text = PICTURES['keys list'](look).join('\n');
    assert.match(text, / <good>● enabled +<\/>/);
    assert.match(text, / <warn>▲ disabled +<\/>/);
    assert.match(text, / <bad>✕ deleted +<\/>/);
  });
});

describe('to a file or a program', () => {
  const look = lookAt(undefined);

  test('tables have every column whole, exact amounts, and no signs', () => {
    const text = PICTURES['keys list'](look).join('\n');
    assert.match(text, /x{64}.* deleted .* 1\.264196608 /);
    assert.doesNotMatch(text, /[●▲✕]/);
    assert.match(PICTURES['credit history'](look).join('\n'), /^AT .*\n2026-11-22T12:00:00\.000Z/);
  });

  test('usage has neither shares nor a total', () => {
    const text = tableLines(usageTable(usageRows(3), ['key'], look), look).join('\n');
    assert.doesNotMatch(text, /SHARE|TOTAL|█/);
    assert.equal(text.split('\n').length, 4);
  });

  test('a request has its whole id', () => {
    const [{ id } = { id: '' }] = requestRecords(1);
    assert.ok(PICTURES['requests list'](look).join('\n').includes(id));
    assert.equal(keyRecords(1).length, 1);
  });

  test('status says the balance as the gateway does', () => {
    assert.match(PICTURES['status, all well'](look).join('\n'), /^balance +1234\.567891 USD, 0\.50 held$/m);
  });
});
