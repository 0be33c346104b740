/** Renders styled text: lines of spans in the colours of the theme. */
import { Box, Text, type TextProps, useIsScreenReaderEnabled } from 'ink';
import { createContext, createElement as h, memo, type ReactNode, useContext } from 'react';
import { asciiOf } from '../draw/ascii.ts';
import { isSameLine, type Line, lineWidth, type Span } from '../draw/line.ts';
import type { Look } from '../theme.ts';

/** The look of the terminal. The default is plain text, which tests read. */
export const LookContext = createContext<Look>({ theme: undefined, isAscii: false, isFaded: false });

/** Bars and charts. Inverse video would make a bar look like a hole, and screen readers cannot read them aloud. */
const BLOCKS = /[─━▀-▟⠀-⣿]+/g;

interface StyledProps {
  readonly line: Line;
  /** Whether it is the row under the cursor. */
  readonly isSelected?: boolean;
}

/** One line of the screen. A long line ends in an ellipsis. */
export const Styled = memo(
  function Styled({ line, isSelected = false }: StyledProps): ReactNode {
    const look = useContext(LookContext);
    const isRead = useIsScreenReaderEnabled();
    if (isRead) return h(Text, null, spokenText(line));
    const spans = line.map((span, index) => {
      const style = styleOf(span, look, isSelected);
      const text = look.isAscii ? asciiOf(span.text) : span.text;
      return style === undefined ? text : h(Text, { key: index, ...style }, text);
    });
    // Ink gives an empty text no height.
    return h(Box, { height: 1, flexShrink: 0 }, h(Text, { wrap: 'truncate' }, ...(spans.length === 0 ? [' '] : spans)));
  },
  (before, after) => before.isSelected === after.isSelected && isSameLine(before.line, after.line),
);

/** Returns a line's text for a screen reader. */
export function spokenText(line: Line): string {
  const text = line.map((span) => span.text).join('');
  return text.replace(BLOCKS, ' ').replace(/\s+/g, ' ').trim();
}

/** Returns the style of a span; undefined for plain text. */
function styleOf(span: Span, { theme, isFaded }: Look, isSelected: boolean): TextProps | undefined {
  const { tone, dim = false, bold = false, inverse = false } = span;
  const isInverse = inverse || (isSelected && theme === undefined && span.text.search(BLOCKS) < 0);
  const color =
    theme && (isFaded || dim ? theme.dim : tone ? theme.tones[tone] : isSelected ? theme.bandText : undefined);
  if (color === undefined && !bold && !isInverse && !(theme === undefined && (dim || isFaded))) return undefined;
  return {
    ...(color !== undefined && { color }),
    bold: bold && !isFaded,
    inverse: isInverse && !isFaded,
    dimColor: theme === undefined && (dim || isFaded) && !isSelected,
  };
}

/** A column of lines. */
export function Lines({ lines, width }: { readonly lines: readonly Line[]; readonly width?: number }): ReactNode {
  return h(
    Box,
    { flexDirection: 'column', flexShrink: 0, ...(width !== undefined && { width }) },
    lines.map((line, index) => h(Styled, { key: index, line })),
  );
}

interface SpreadProps {
  readonly left: Line;
  readonly right: Line;
  readonly width: number;
}

/** A line at the left edge, and another at the right if it fits. */
export function Spread({ left, right, width }: SpreadProps): ReactNode {
  const hasRoom = lineWidth(left) + lineWidth(right) < width;
  return h(
    Box,
    { justifyContent: 'space-between', flexShrink: 0, height: 1 },
    h(Styled, { line: left }),
    hasRoom && right.length > 0 ? h(Styled, { line: right }) : null,
  );
}
