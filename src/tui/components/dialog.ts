/** Dialogs over a view: forms, confirmations, the model picker, a new key, and help. */
import { Box } from 'ink';
import { createElement as h, type ReactNode, useContext } from 'react';
import { count } from '../../operator/format.ts';
import { clean, cut, cutMiddle, fit, pad, widthOf, wrap } from '../../operator/text.ts';
import { creditLines } from '../credit-lines.ts';
import { doneLines } from '../done-lines.ts';
import { boxWidth, noticeLines, noticeRoom } from '../draw/box.ts';
import { bold, dim, EMPTY, fitLine, type Line, lineWidth, type Span, span } from '../draw/line.ts';
import { firstShown } from '../draw/table.ts';
import { typedSpans } from '../draw/typed.ts';
import { helpLines } from '../help-lines.ts';
import type { Dialog, Field, Model } from '../model.ts';
import { found, type PaletteDialog, paletteRoom } from '../update/palette.ts';
import { Lines, LookContext, Styled } from './styled.ts';

/** Rows of the window outside the box's content: its frame, and the hints at the bottom. */
const OUTSIDE_ROWS = 3;

/** A line of a dialog. */
type DialogLine = Line | { readonly selected: Line };

/** Draws a box in the middle of the screen, over the view. */
export function DialogBox({ model, dialog }: { readonly model: Model; readonly dialog: Dialog }): ReactNode {
  const { theme, isAscii } = useContext(LookContext);
  const width = boxWidth(model.columns);
  const rows = model.rows - 1;
  const lines = contentOf(model, dialog, rows - 2).slice(0, rows - 2);
  const accent = theme?.tones.accent;
  const blank = [{ text: ' '.repeat(model.columns) }];
  const place = {
    position: 'absolute',
    width: model.columns,
    height: rows,
    alignItems: 'center',
    justifyContent: 'center',
  } as const;
  return h(
    Box,
    place,
    // Ink boxes have no background, so blank lines cover the view.
    h(Box, place, h(Lines, { lines: Array<Line>(lines.length + 2).fill(blank) })),
    h(
      Box,
      {
        flexDirection: 'column',
        width: width + 4,
        borderStyle: isAscii ? 'classic' : 'round',
        ...(accent !== undefined && { borderColor: accent }),
      },
      lines.map((line, index) => h(BoxLine, { key: index, line, width })),
    ),
  );
}

function BoxLine({ line, width }: { readonly line: DialogLine; readonly width: number }): ReactNode {
  const { theme } = useContext(LookContext);
  const blank = h(Styled, { line: [{ text: ' ' }] });
  const isSelected = 'selected' in line;
  const background = isSelected && theme !== undefined ? { backgroundColor: theme.band } : {};
  const text = h(Styled, { line: fitLine(isSelected ? line.selected : line, width), isSelected });
  return h(Box, { height: 1, flexShrink: 0 }, blank, h(Box, { width, ...background }, text), blank);
}

function contentOf(model: Model, dialog: Dialog, height: number): DialogLine[] {
  const { columns } = model;
  const width = boxWidth(columns);
  switch (dialog.kind) {
    case 'form':
      return form(dialog, width, height);
    case 'confirm':
      return confirmation(dialog, width, height);
    case 'picker':
      return picker(dialog, width, height);
    case 'secret':
      return secret(dialog, width);
    case 'notice':
      return scrolled(
        paragraph(dialog.title, width, { bold: true, tone: dialog.tone ?? 'bad' }),
        EMPTY,
        noticeLines(dialog.lines, columns).map((text) => [{ text }]),
        dialog.top,
        width,
        height,
      );
    case 'audit':
      return audit(dialog, width);
    case 'credit_history': {
      const [head = EMPTY, ...lines] = creditLines(dialog, columns);
      const none = [[dim('No credit yet. Add some with +.')]];
      return scrolled([[bold('Credit history')]], head, lines.length > 0 ? lines : none, dialog.top, width, height);
    }
    case 'done': {
      const lines = doneLines(model);
      const none = [[dim('Nothing yet. Each change appears here, with the command that does the same.')]];
      return scrolled(
        [[bold('Done in this dashboard')]],
        EMPTY,
        lines.length > 0 ? lines : none,
        dialog.top,
        width,
        height,
      );
    }
    case 'palette':
      return palette(model, dialog, width);
    case 'help':
      return scrolled([[bold('Keyboard shortcuts')]], EMPTY, helpLines(dialog.view, width), dialog.top, width, height);
  }
}

/** Wraps a text: a question or message must be shown in full. */
function paragraph(text: string, width: number, style: Omit<Span, 'text'> = {}): Line[] {
  return wrap(clean(text), width).map((line) => [span(line, style)]);
}

/** The key hints of a dialog. */
function hints(width: number, ...keys: readonly string[]): Line[] {
  const lines: string[] = [];
  for (const key of keys) {
    const longer = `${lines.at(-1)}   ${key}`;
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(key);
  }
  return lines.map((line) => [dim(line)]);
}

function form({ title, fields, cursor }: Extract<Dialog, { kind: 'form' }>, width: number, height: number): Line[] {
  const labels = Math.max(...fields.map(({ label }) => widthOf(label)));
  const margin = labels + 4;
  const linesOf = ({ label, value, hint, problem }: Field, index: number): Line[] => {
    const isFocused = index === cursor;
    const room = width - margin;
    const shown = isFocused
      ? typedSpans(value, room, { tone: 'accent' })
      : [span(cut(clean(value.text), room), { tone: 'accent' })];
    const line: Span[] = [
      { text: isFocused ? '› ' : '  ' },
      span(fit(label, labels), { bold: isFocused }),
      { text: '  ' },
      ...shown,
      ...(value.text === '' ? [dim(`${isFocused ? '' : ' '}${hint}`)] : []),
    ];
    const problems = problem === undefined ? [] : paragraph(problem, room, { tone: 'bad' });
    return [line, ...problems.map((line) => [{ text: ' '.repeat(margin) }, ...line])];
  };
  const blocks = fields.map(linesOf);
  const head = [...paragraph(title, width, { bold: true }), []];
  const foot = [[], ...hints(width, '↑↓ or Tab: next field', 'Enter: confirm', 'Esc: cancel')];
  // In a small window only the field under the cursor shows its error.
  const room = height - head.length - foot.length;
  const above = blocks.slice(0, cursor).flat().length;
  const top = Math.max(0, Math.min(above, above + (blocks[cursor]?.length ?? 0) - room));
  return [...head, ...blocks.flat().slice(top, top + room), ...foot];
}

function confirmation(
  { title, text, facts = [], word, typed }: Extract<Dialog, { kind: 'confirm' }>,
  width: number,
  height: number,
): Line[] {
  const ask: Line[] =
    word === undefined
      ? hints(width, 'y: confirm', 'n or Esc: cancel')
      : [
          [{ text: 'Type this to confirm:' }],
          ...paragraph(word, width, { bold: true }),
          [span('› ', { tone: 'bad' }), ...typedSpans(typed, width - 2, { tone: 'bad' })],
          [],
          ...hints(width, 'Enter: confirm', 'Esc: cancel'),
        ];
  const head = paragraph(title, width, { bold: true, tone: 'bad' });
  const rest = [[], ...paragraph(text, width), [], ...ask];
  const known = facts.length > 0 ? [[], ...labelledLines(facts, width)] : [];
  // In a small window the question takes precedence over the facts.
  const hasRoom = head.length + known.length + rest.length <= height;
  return [...head, ...(hasRoom ? known : []), ...rest];
}

/** Lines of labels and values; long values wrap. */
function labelledLines(facts: readonly (readonly [label: string, value: string])[], width: number): Line[] {
  const labels = Math.max(...facts.map(([label]) => widthOf(label))) + 2;
  return facts.flatMap(([label, value]) =>
    paragraph(value, width - labels).map((line, index) => [dim(fit(index === 0 ? label : '', labels)), ...line]),
  );
}

function picker(
  { options, chosen, cursor, name, saves }: Extract<Dialog, { kind: 'picker' }>,
  width: number,
  height: number,
): DialogLine[] {
  const room = Math.max(1, height - 8);
  const top = firstShown(options.length, room, cursor);
  const lines = options.slice(top, top + room).map((option, index) => {
    const isChosen = chosen === null || chosen.includes(option);
    const line: Line = [span(isChosen ? '[x] ' : '[ ] ', { tone: isChosen ? 'good' : 'bad' }), { text: clean(option) }];
    return top + index === cursor ? { selected: line } : line;
  });
  if (saves.kind === 'group_field') {
    const keys = hints(width, 'Enter: choose', 'x: none', 'Esc: cancel');
    return [[bold('Put it into a group')], [], ...lines, [], ...keys];
  }
  const state = chosen === null ? 'every model, including any added later' : `${chosen.length} of ${options.length}`;
  return [
    [bold(`Models that ${cut(clean(name), width - 23)} may call`)],
    [dim(state)],
    [],
    ...lines,
    [],
    ...hints(width, 'Space: toggle', 'a: all', 'x: none', 'Enter: save', 'Esc: cancel'),
  ];
}

function secret({ name, secret: key, copied, leaving }: Extract<Dialog, { kind: 'secret' }>, width: number): Line[] {
  return [
    ...paragraph(`Created key ${name}`, width, { bold: true }),
    [],
    ...paragraph(key, width, { tone: 'accent', bold: true }),
    [],
    [{ text: 'This key is shown only once. Store it now.' }],
    [],
    ...(leaving ? paragraph('Press Ctrl-C again to quit. The key cannot be shown again.', width, { tone: 'bad' }) : []),
    ...(copied ? paragraph('Copied, if this terminal supports it.', width, { tone: 'good' }) : []),
    ...hints(width, 'c: copy to clipboard', 'Enter: I have stored it'),
  ];
}

function audit({ read, of }: Extract<Dialog, { kind: 'audit' }>, width: number): Line[] {
  const filled = of === 0 ? 0 : Math.floor((read / of) * width);
  return [
    [bold('Audit')],
    [],
    ...paragraph('Checks that balance, totals, holds and journal agree. Gateways go on serving meanwhile.', width),
    [],
    [span('━'.repeat(filled), { tone: 'accent' }), dim('─'.repeat(width - filled))],
    [{ text: of === 0 ? 'starting' : `${count(read)} of ${count(of)} journal rows` }],
    [],
    ...hints(width, 'Esc: stop'),
  ];
}

/** Lines that scroll below a title and an optional head. */
function scrolled(
  title: readonly Line[],
  below: Line,
  all: readonly Line[],
  top: number,
  width: number,
  height: number,
): Line[] {
  const room = noticeRoom(height + OUTSIDE_ROWS);
  const first = Math.max(0, Math.min(top, all.length - room));
  const shown = all.slice(first, first + room);
  const where = all.length > room ? [`↑↓: lines ${first + 1} to ${first + shown.length} of ${all.length}`] : [];
  return [...title, below, ...shown, [], ...hints(width, ...where, 'Enter or Esc: close')];
}

/** Columns for the type of an entry. */
const KIND = 12;
const PROMPT = ': ';

function palette(model: Model, { query, cursor }: PaletteDialog, width: number): DialogLine[] {
  const entries = found(model, query.text);
  const room = paletteRoom(model.rows);
  const at = Math.min(cursor, entries.length - 1);
  const top = firstShown(entries.length, room, at);
  const lines = entries.slice(top, top + room).map(({ of, text, shown }, index) => {
    const name = cutMiddle(clean(text), width - KIND - widthOf(shown) - 1);
    const left: Line = [dim(pad(of, KIND)), { text: name }];
    const gap = ' '.repeat(Math.max(1, width - lineWidth(left) - widthOf(shown)));
    const line = [...left, { text: gap }, dim(shown)];
    return top + index === at ? { selected: line } : line;
  });
  const none: Line[] = entries.length === 0 ? [[dim('No name matches.')]] : [];
  const shown: DialogLine[] = [...lines, ...none];
  return [
    [span(PROMPT, { bold: true }), ...typedSpans(query, width - PROMPT.length, { tone: 'accent' })],
    [],
    ...shown,
    ...Array<Line>(room - shown.length).fill(EMPTY),
  ];
}
