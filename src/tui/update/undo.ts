/** `u`: asks whether the last change is to be undone, and says what that does. */
import type { Done, Subject } from '../actions.ts';
import { commandsOf, shellLine } from '../command-line.ts';
import { NOTHING_TYPED } from '../draw/typed.ts';
import type { Model } from '../model.ts';
import { lastUndo } from '../undo.ts';
import { type Step, step, withMessage } from './step.ts';

export function askToUndo(model: Model): Step {
  const last = lastUndo(model);
  if (!('action' in last)) return step(withMessage(model, nothingToUndo(last.stays), 'warn'));
  const { done, action, now, isChangedSince } = last;
  const name = nameOf(now);
  const facts = [
    ['what was done', done.text],
    ['undone with', shellLine(commandsOf(action, now), model.configOption)],
  ] as const;
  const text = isChangedSince
    ? `${name} has been changed again since, and not here: that change is lost, too.`
    : `${name} gets back what it had before.`;
  const { number: undoes } = done;
  return step({
    ...model,
    dialog: {
      kind: 'confirm',
      title: 'Undo the last change?',
      text,
      facts,
      action,
      undoes,
      word: undefined,
      typed: NOTHING_TYPED,
    },
  });
}

function nameOf(subject: Subject): string {
  if (!('kind' in subject)) return subject.name;
  return `${subject.kind === 'group' ? '@' : ''}${subject.record.name}`;
}

function nothingToUndo(stays: Done | undefined): string {
  if (stays === undefined) return 'Nothing was changed here that could be undone.';
  return `This cannot be undone: ${stays.text}`;
}
