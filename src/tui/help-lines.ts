/** Every key of the keyboard and its effect, as lines: the keys of the open view first. Pure. */
import { fit, widthOf } from '../operator/text.ts';
import { type Binding, SECTIONS } from './bindings.ts';
import { bold, type Line, span } from './draw/line.ts';
import type { View } from './model.ts';

/** Minimum columns for keys in two columns. */
const TWO_COLUMNS = 72;

export function helpLines(view: View, width: number): Line[] {
  const columns = width >= TWO_COLUMNS ? 2 : 1;
  const room = Math.floor(width / columns);
  const keys = Math.max(...SECTIONS.flatMap(({ bindings }) => bindings.map(({ shown }) => widthOf(shown))));
  const cell = ({ shown, meaning }: Binding): Line => [
    { text: '  ' },
    span(fit(shown, keys), { tone: 'accent' }),
    { text: `  ${fit(meaning, room - keys - 4)}` },
  ];
  const rank = (of: View | undefined) => (of === view ? 0 : of === undefined ? 1 : 2);
  return SECTIONS.toSorted((a, b) => rank(a.of) - rank(b.of)).flatMap(({ title, bindings }): Line[] => {
    const rows = Math.ceil(bindings.length / columns);
    const rowOf = (left: Binding, index: number) => [left, ...bindings.slice(rows + index, rows + index + 1)];
    return [[bold(title)], ...bindings.slice(0, rows).map((left, index) => rowOf(left, index).flatMap(cell))];
  });
}
