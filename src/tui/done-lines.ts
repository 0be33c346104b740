/** The actions of this dashboard as lines: newest first, each with the equivalent command line. Pure. */
import { clean, wrap } from '../operator/text.ts';
import type { Done } from './actions.ts';
import { commandsOf, shellLine } from './command-line.ts';
import { boxWidth } from './draw/box.ts';
import { dim, type Line, span } from './draw/line.ts';
import { localTime } from './local-time.ts';
import type { Model } from './model.ts';

/** Columns for `12:00:00` and a gap. */
const TIME = 8;
const GAP = '  ';

export function doneLines(model: Model): Line[] {
  const width = boxWidth(model.columns) - TIME - GAP.length;
  const margin = { text: ' '.repeat(TIME) + GAP };
  return model.done.toReversed().flatMap((done): Line[] => {
    const [first = '', ...more] = wrap(clean(textOf(done)), width);
    const command = shellLine(commandsOf(done.action, done.before), model.configOption);
    const style = { tone: done.tone === 'good' ? undefined : done.tone };
    return [
      [dim(localTime(done.atMs).slice(-TIME)), { text: GAP }, span(first, style)],
      ...more.map((text): Line => [margin, span(text, style)]),
      ...wrap(clean(command), width).map((text): Line => [margin, span(text, { tone: 'accent' })]),
    ];
  });
}

function textOf({ text, isUndone, isUndo }: Done): string {
  return `${isUndo ? 'Undo: ' : ''}${text}${isUndone ? ' (undone since)' : ''}`;
}
