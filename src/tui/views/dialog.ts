/** What lies over a view: forms, confirmations, the picker of models, a new key, and the help. */
import { bold, dim, EMPTY, fitLine, type Line, type Span, selected, span } from '../draw/line.ts';
import { firstShown } from '../draw/table.ts';
import { clean, cut, ending, fit, widthOf, wrapped } from '../draw/text.ts';
import type { Dialog } from '../model.ts';
import { HELP } from './help.ts';

const MAX_WIDTH = 72;

/** A frame in the middle of the screen, over the lines that are there. */
export function withDialog(lines: readonly Line[], dialog: Dialog, columns: number, rows: number): Line[] {
  const width = Math.min(MAX_WIDTH, columns - 4);
  const content = contentOf(dialog, width, rows - 2).slice(0, rows - 2);
  const top = Math.max(0, Math.floor((rows - content.length - 2) / 2));
  const left = Math.floor((columns - width - 4) / 2);
  const side = span('│', { tone: 'accent' });
  const margin = { text: ' '.repeat(left) };
  const framed: Line[] = [
    [margin, span(`╭${'─'.repeat(width + 2)}╮`, { tone: 'accent' })],
    ...content.map((line) => [margin, side, { text: ' ' }, ...fitLine(line, width), { text: ' ' }, side]),
    [margin, span(`╰${'─'.repeat(width + 2)}╯`, { tone: 'accent' })],
  ];
  // The last line tells of what has just been done, in the dialog too.
  const beneath = (row: number) => (row === rows - 1 ? lines[row] : lines[row] && faded(lines[row])) ?? EMPTY;
  return Array.from({ length: rows }, (_, row) => framed[row - top] ?? beneath(row));
}

/** What lies beneath is still to be seen, but is not meant now. */
function faded(line: Line): Line {
  return line.map(({ text }) => ({ text, dim: true }));
}

function contentOf(dialog: Dialog, width: number, height: number): Line[] {
  switch (dialog.kind) {
    case 'form':
      return form(dialog, width);
    case 'confirm':
      return confirmation(dialog, width);
    case 'picker':
      return picker(dialog, width, height);
    case 'secret':
      return secret(dialog, width);
    case 'help':
      return help(dialog, width, height);
  }
}

/** A text in as many lines as it takes: nothing of what is asked or told may be cut off. */
function paragraph(text: string, width: number, style: Omit<Span, 'text'> = {}): Line[] {
  return wrapped(clean(text), width).map((line) => [span(line, style)]);
}

/** The keys of the moment. */
function hints(width: number, ...keys: readonly string[]): Line[] {
  const lines: string[] = [];
  for (const key of keys) {
    const longer = `${lines.at(-1)}   ${key}`;
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(key);
  }
  return lines.map((line) => [dim(line)]);
}

function form({ title, fields, cursor }: Extract<Dialog, { kind: 'form' }>, width: number): Line[] {
  const labels = Math.max(...fields.map(({ label }) => widthOf(label)));
  const margin = labels + 4;
  const lines = fields.flatMap(({ label, value, hint, fault }, index): Line[] => {
    const isHere = index === cursor;
    const typed: Span[] = [
      { text: isHere ? '› ' : '  ' },
      span(fit(label, labels), { bold: isHere }),
      { text: '  ' },
      span(ending(clean(value), width - margin - 1), { tone: 'accent' }),
      ...(isHere ? [span('▏', { tone: 'accent' })] : []),
      ...(value === '' ? [dim(`${isHere ? '' : ' '}${hint}`)] : []),
    ];
    const faults = fault === undefined ? [] : paragraph(fault, width - margin, { tone: 'bad' });
    return [typed, ...faults.map((line) => [{ text: ' '.repeat(margin) }, ...line])];
  });
  return [
    ...paragraph(title, width, { bold: true }),
    [],
    ...lines,
    [],
    ...hints(width, '↑↓ or Tab: next field', 'Enter: do it', 'Esc: leave'),
  ];
}

function confirmation({ title, text, word, typed }: Extract<Dialog, { kind: 'confirm' }>, width: number): Line[] {
  const ask: Line[] =
    word === undefined
      ? hints(width, 'y: do it', 'n or Esc: leave')
      : [
          [{ text: 'Type this to do it:' }],
          ...paragraph(word, width, { bold: true }),
          [span(`› ${ending(clean(typed), width - 3)}▏`, { tone: 'bad' })],
          [],
          ...hints(width, 'Enter: do it', 'Esc: leave'),
        ];
  return [...paragraph(title, width, { bold: true, tone: 'bad' }), [], ...paragraph(text, width), [], ...ask];
}

function picker(
  { options, chosen, cursor, name }: Extract<Dialog, { kind: 'picker' }>,
  width: number,
  height: number,
): Line[] {
  const room = Math.max(1, height - 8);
  const top = firstShown(options.length, room, cursor);
  const lines = options.slice(top, top + room).map((option, index) => {
    const isChosen = chosen === null || chosen.includes(option);
    const line: Line = [span(isChosen ? '[x] ' : '[ ] ', { tone: isChosen ? 'good' : 'bad' }), { text: clean(option) }];
    return top + index === cursor ? selected(line, width) : line;
  });
  const state = chosen === null ? 'every model, also those to come' : `${chosen.length} of ${options.length}`;
  return [
    [bold(`Models that ${cut(clean(name), width - 23)} may call`)],
    [dim(state)],
    [],
    ...lines,
    [],
    ...hints(width, 'Space: take or leave', 'a: all', 'x: none', 'Enter: save', 'Esc: leave'),
  ];
}

function secret({ name, secret: key, copied, leaving }: Extract<Dialog, { kind: 'secret' }>, width: number): Line[] {
  return [
    ...paragraph(`The key ${name} is made`, width, { bold: true }),
    [],
    ...paragraph(key, width, { tone: 'accent', bold: true }),
    [],
    [{ text: 'This is the only time that it is shown: store it now.' }],
    [],
    ...(leaving
      ? paragraph('Ctrl-C once more leaves the dashboard, and the key is gone.', width, { tone: 'bad' })
      : []),
    ...(copied ? paragraph('copied, where this terminal allows it', width, { tone: 'good' }) : []),
    ...hints(width, 'c: copy to the clipboard of this terminal', 'Enter: I have stored it'),
  ];
}

/** All keys, or where there is no room for them, those of everywhere and of the view. */
function help({ view }: Extract<Dialog, { kind: 'help' }>, width: number, height: number): Line[] {
  const needed = HELP.reduce((sum, { keys }) => sum + keys.length + 1, 2);
  const shown = needed <= height ? HELP : HELP.filter(({ of }) => of === undefined || of === view);
  const column = Math.max(...HELP.flatMap(({ keys }) => keys.map(([key]) => widthOf(key))));
  const lines = shown.flatMap(({ title, keys }): Line[] => [
    [bold(title)],
    ...keys.map(([key, meaning]) => [
      { text: '  ' },
      span(fit(key, column), { tone: 'accent' }),
      { text: `  ${fit(meaning, width - column - 4)}` },
    ]),
  ]);
  return [...lines, [], [dim('any key: back')]];
}
