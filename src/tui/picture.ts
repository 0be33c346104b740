/** Renders the screen as text with escape codes, without a terminal. */
import { renderToString } from 'ink';
import { createElement as h } from 'react';
import { Dashboard } from './components/dashboard.ts';
import { LookContext } from './components/styled.ts';
import type { Model } from './model.ts';
import { THEMES } from './theme.ts';

const LOOK = { theme: THEMES.dark, isAscii: false, isFaded: false };

export function pictureOf(model: Model, look = LOOK): string {
  return renderToString(h(LookContext, { value: look }, h(Dashboard, { model })), { columns: model.columns });
}
