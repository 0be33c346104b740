/** A row of choices with the current one marked; the others can be clicked. */
import { Box } from 'ink';
import { createElement as h, type ReactNode } from 'react';
import { span } from '../draw/line.ts';
import type { Click } from '../pointer.ts';
import { after } from '../update/turning.ts';
import { Clickable } from './clickable.ts';
import { Styled } from './styled.ts';

interface ChoicesProps {
  readonly all: readonly string[];
  readonly chosen: string;
  /** Whether all choices fit; otherwise only the current one is shown, and a click on it selects the next. */
  readonly isAll: boolean;
  readonly on: Click['on'];
}

export function Choices({ all, chosen, isAll, on }: ChoicesProps): ReactNode {
  return h(
    Box,
    { flexShrink: 0 },
    shownOf(all, chosen, isAll).map((each) => {
      const style = { inverse: each === chosen, dim: each !== chosen };
      const click = { on, which: isAll ? each : after(all, each) };
      return h(Clickable, { key: each, click, flexShrink: 0 }, h(Styled, { line: [span(` ${each} `, style)] }));
    }),
  );
}

export function choicesWidth({ all, chosen, isAll }: ChoicesProps): number {
  return shownOf(all, chosen, isAll).reduce((sum, each) => sum + each.length + 2, 0);
}

function shownOf(all: readonly string[], chosen: string, isAll: boolean): readonly string[] {
  return isAll ? all : [chosen];
}
