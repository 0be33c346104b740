/** The palette: what is typed, and the entries that match it, with the keys that do the same. */
import { clean, cutMiddle, pad, widthOf } from '../../operator/text.ts';
import { dim, EMPTY, type Line, selected, span, spread } from '../draw/line.ts';
import { firstShown } from '../draw/table.ts';
import { typedSpans } from '../draw/typed.ts';
import type { Model } from '../model.ts';
import { found, type PaletteDialog, paletteRoom } from '../update/palette.ts';

/** The columns for what kind of thing an entry is. */
const KIND = 12;
const PROMPT = ': ';

export function palette(model: Model, { query, cursor }: PaletteDialog, width: number): Line[] {
  const entries = found(model, query.text);
  const room = paletteRoom(model.rows);
  const at = Math.min(cursor, entries.length - 1);
  const top = firstShown(entries.length, room, at);
  const lines = entries.slice(top, top + room).map(({ of, text, shown }, index) => {
    const name = cutMiddle(clean(text), width - KIND - widthOf(shown) - 1);
    const line = spread([dim(pad(of, KIND)), { text: name }], [dim(shown)], width);
    return top + index === at ? selected(line, width) : line;
  });
  const none: Line[] = entries.length === 0 ? [[dim('Nothing has a name like this.')]] : [];
  const shown = [...lines, ...none];
  return [
    [span(PROMPT, { bold: true }), ...typedSpans(query, width - PROMPT.length, { tone: 'accent' })],
    [],
    ...shown,
    ...Array<Line>(room - shown.length).fill(EMPTY),
  ];
}
