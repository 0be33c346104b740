/** What lies over a view: forms, confirmations, the picker of models, a new key, and the help. */
import { bold, dim, EMPTY, fitLine, type Line, type Span, selected, span } from '../draw/line.ts';
import { firstShown } from '../draw/table.ts';
import { clean, fit, widthOf } from '../draw/text.ts';
import type { Dialog } from '../model.ts';
import { HELP } from './help.ts';

const MAX_WIDTH = 72;

/** A frame in the middle of the screen, over the lines that are there. */
export function withDialog(lines: readonly Line[], dialog: Dialog, columns: number, rows: number): Line[] {
  const width = Math.min(MAX_WIDTH, columns - 4);
  const content = contentOf(dialog, width, rows - 4).slice(0, rows - 2);
  const top = Math.max(0, Math.floor((rows - content.length - 2) / 2));
  const left = Math.floor((columns - width - 4) / 2);
  const side = span('│', { tone: 'accent' });
  const margin = { text: ' '.repeat(left) };
  const framed: Line[] = [
    [margin, span(`╭${'─'.repeat(width + 2)}╮`, { tone: 'accent' })],
    ...content.map((line) => [margin, side, { text: ' ' }, ...fitLine(line, width), { text: ' ' }, side]),
    [margin, span(`╰${'─'.repeat(width + 2)}╯`, { tone: 'accent' })],
  ];
  return Array.from({ length: rows }, (_, row) => framed[row - top] ?? faded(lines[row] ?? EMPTY));
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
      return confirmation(dialog);
    case 'picker':
      return picker(dialog, width, height);
    case 'secret':
      return secret(dialog);
    case 'help':
      return help(width);
  }
}

function form({ title, fields, cursor }: Extract<Dialog, { kind: 'form' }>, width: number): Line[] {
  const labels = Math.max(...fields.map(({ label }) => widthOf(label)));
  const lines = fields.flatMap(({ label, value, hint, fault }, index): Line[] => {
    const isHere = index === cursor;
    const typed: Span[] = [
      { text: isHere ? '› ' : '  ' },
      span(fit(label, labels), { bold: isHere }),
      { text: '  ' },
      span(clean(value), { tone: 'accent' }),
      ...(isHere ? [span('▏', { tone: 'accent' })] : []),
      ...(value === '' ? [dim(` ${hint}`)] : []),
    ];
    return fault === undefined
      ? [typed]
      : [typed, [{ text: ' '.repeat(labels + 4) }, span(fit(fault, width - labels - 4), { tone: 'bad' })]];
  });
  return [[bold(title)], [], ...lines, [], [dim('↑↓ or Tab: next field   Enter: do it   Esc: leave')]];
}

function confirmation({ title, text, word, typed }: Extract<Dialog, { kind: 'confirm' }>): Line[] {
  const ask: Line[] =
    word === undefined
      ? [[dim('y: do it   n or Esc: leave')]]
      : [
          [{ text: 'Type ' }, bold(clean(word)), { text: ' to do it: ' }, span(`${clean(typed)}▏`, { tone: 'bad' })],
          [],
          [dim('Enter: do it   Esc: leave')],
        ];
  return [
    [span(title, { bold: true, tone: 'bad' })],
    [],
    ...text.split('\n').map((line) => [{ text: clean(line) }]),
    [],
    ...ask,
  ];
}

function picker(
  { options, chosen, cursor }: Extract<Dialog, { kind: 'picker' }>,
  width: number,
  height: number,
): Line[] {
  const room = Math.max(1, height - 6);
  const top = firstShown(options.length, room, cursor);
  const lines = options.slice(top, top + room).map((option, index) => {
    const isChosen = chosen === null || chosen.includes(option);
    const line: Line = [span(isChosen ? '[x] ' : '[ ] ', { tone: isChosen ? 'good' : 'bad' }), { text: clean(option) }];
    return top + index === cursor ? selected(line, width) : line;
  });
  const state = chosen === null ? 'every model, also those to come' : `${chosen.length} of ${options.length}`;
  return [
    [bold('Models that the key may call'), dim(`  ${state}`)],
    [],
    ...lines,
    [],
    [dim('Space: take or leave   a: every model   x: none   Enter: save   Esc: leave')],
  ];
}

function secret({ name, secret: key, copied }: Extract<Dialog, { kind: 'secret' }>): Line[] {
  return [
    [bold(`The key ${clean(name)} is made`)],
    [],
    [span(key, { tone: 'accent', bold: true })],
    [],
    [{ text: 'This is the only time that it is shown: store it now.' }],
    [],
    [dim(copied ? 'copied   Enter: it is stored' : 'c: copy to the clipboard of this terminal   Enter: it is stored')],
  ];
}

function help(width: number): Line[] {
  const keys = Math.max(...HELP.map(([key]) => widthOf(key)));
  const lines = HELP.map(
    ([key, meaning]): Line =>
      meaning === ''
        ? [bold(key)]
        : [{ text: '  ' }, span(fit(key, keys), { tone: 'accent' }), { text: `  ${fit(meaning, width - keys - 4)}` }],
  );
  return [...lines, [], [dim('any key: back')]];
}
