/** The screen shows the frame, whatever else is written to the terminal, and however slow that is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { placed } from '../../src/tui/draw/place.ts';
import { Screen } from '../../src/tui/screen.ts';
import { VirtualScreen } from './virtual-screen.ts';

const FRAME = ['first', 'second', '', 'fourth'];
const BOLD = '\u001b[1m';
const NORMAL = '\u001b[22m';
/** What `wall` and background jobs do: they write where the cursor is, and scroll. */
const FOREIGN = '\r\n\u001b[31mBroadcast message\r\n\r\nfrom root\r\n';

function opened(size = { columns: 20, rows: 4 }): { terminal: VirtualScreen; screen: Screen } {
  const terminal = new VirtualScreen(size);
  const screen = new Screen(terminal);
  screen.open();
  screen.show(FRAME);
  return { terminal, screen };
}

describe('a drawing', () => {
  const drawnLines = (bytes: string) => [...bytes.matchAll(/\[(\d+);\d+H/g)].map(([, row]) => Number(row));
  const cases: readonly (readonly [string, readonly string[], readonly string[] | undefined, readonly number[]])[] = [
    ['has all lines where nobody knows what is there', FRAME, undefined, [1, 2, 3, 4]],
    ['has the lines that have changed', ['first', 'other', '', 'fourth'], FRAME, [2]],
    ['has the lines that are new', FRAME, ['first'], [2, 3, 4]],
    ['is empty if nothing has changed', FRAME, FRAME, []],
  ];
  for (const [what, lines, onScreen, rows] of cases) {
    test(what, () => assert.deepEqual(drawnLines(placed(lines, onScreen)), rows));
  }

  test('begins at the word that has changed, in the style that it has there', () => {
    const bytes = placed([`a ${BOLD}b c d${NORMAL}`], [`a ${BOLD}b c e${NORMAL}`]);
    assert.ok(bytes.includes(`\u001b[1;6H\u001b[K${BOLD} d${NORMAL}`), JSON.stringify(bytes));
  });

  test('shows the lines, whatever was there before', () => {
    const piece = fc.constantFrom('a', 'b', ' ', '━', '…', '日', 'é', 'e\u0301', '👩‍👩‍👧‍👦', BOLD, NORMAL);
    const line = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    const lines = fc.array(line, { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const [terminal, fresh] = [
          new VirtualScreen({ columns: 20, rows: 3 }),
          new VirtualScreen({ columns: 20, rows: 3 }),
        ];
        terminal.write(placed(before, undefined));
        terminal.write(placed(after, before));
        fresh.write(placed(after, undefined));
        assert.equal(terminal.text(), fresh.text());
      }),
    );
  });
});

describe('the screen', () => {
  test('shows the frame, and then the next one in its place', () => {
    const { terminal, screen } = opened();
    assert.equal(terminal.text(), 'first\nsecond\n\nfourth');
    screen.show(['1st', '', 'third', 'fourth']);
    assert.equal(terminal.text(), '1st\n\nthird\nfourth');
  });

  test('is whole again after a repaint, whatever was written over it', () => {
    const { terminal, screen } = opened();
    terminal.write(`${FOREIGN}\u001b[?25h\u001b[?2004l`);
    assert.match(terminal.text(), /Broadcast/);
    screen.repaint();
    assert.equal(terminal.text(), FRAME.join('\n'));
    assert.ok(!terminal.modes.has('25'), 'the cursor is shown');
    assert.ok(terminal.modes.has('2004'), 'pasted text would be taken for keys');
  });

  test('draws a changed line in its place, even where others have moved the cursor', () => {
    const { terminal, screen } = opened();
    terminal.write('\u001b[2;3H');
    screen.show(['first', 'second', '', 'last']);
    assert.equal(terminal.text(), 'first\nsecond\n\nlast');
  });

  test('shows a line that the terminal takes for wider in one row', () => {
    const { terminal, screen } = opened({ columns: 5, rows: 3 });
    screen.show(['123456789', 'next', 'last']);
    assert.equal(terminal.text(), '12349\nnext\nlast');
    assert.ok(terminal.modes.has('7'), 'what comes after the dashboard would not wrap');
  });

  test('never draws below the last row while a smaller frame is on its way', () => {
    const { terminal, screen } = opened();
    terminal.resize(20, 2);
    screen.repaint();
    assert.equal(terminal.text(), 'first\nsecond');
  });

  test('draws nothing outside the alternate screen, and everything once it is back there', () => {
    const { terminal, screen } = opened();
    screen.close();
    const before = terminal.written;
    screen.repaint();
    screen.show(['drawn', 'while', 'suspended', '']);
    assert.equal(terminal.written, before);
    screen.open();
    terminal.write(FOREIGN);
    screen.show(FRAME);
    assert.equal(terminal.text(), FRAME.join('\n'));
  });

  test('gives a slow terminal the latest frame once it has caught up, and none of those between', () => {
    const { terminal, screen } = opened();
    terminal.writableNeedDrain = true;
    for (let frame = 1; frame <= 1_000; frame++) screen.show([`frame ${frame}`, '', '', '']);
    assert.match(terminal.text(), /^first/);
    terminal.writableNeedDrain = false;
    terminal.emit('drain');
    assert.equal(terminal.text(), 'frame 1000\n\n\n');
    assert.ok(!terminal.written.includes('frame 999'));
  });

  test('has a size on a terminal that does not tell it', () => {
    const { columns, rows } = new Screen(new VirtualScreen({ columns: 0, rows: 0 }));
    assert.deepEqual([columns, rows], [80, 24]);
  });
});
