/** Clickable boxes, and the parser for mouse reports in SGR mode. */
import { Box, type BoxProps, type DOMElement, useStdin, useStdout } from 'ink';
import {
  createContext,
  createElement as h,
  type PropsWithChildren,
  type ReactNode,
  useContext,
  useEffect,
  useEffectEvent,
  useRef,
} from 'react';
import type { Click, MouseAction } from '../pointer.ts';

/** The clickable boxes on the screen. */
export type Clicks = Map<DOMElement, Click>;

/** The registry of clickable boxes. Undefined beneath a dialog and in pictures: clicks have no effect there. */
export const ClicksContext = createContext<Clicks | undefined>(undefined);

type ClickableProps = PropsWithChildren<BoxProps & { readonly click: Click | undefined }>;

export function Clickable({ click, children, ...box }: ClickableProps): ReactNode {
  const ref = useRef<DOMElement>(null);
  const clicks = useContext(ClicksContext);
  const { on, which } = click ?? {};
  useEffect(() => {
    const node = ref.current;
    if (node === null || clicks === undefined || on === undefined || which === undefined) return;
    clicks.set(node, { on, which });
    return () => {
      clicks.delete(node);
    };
  }, [clicks, on, which]);
  return h(Box, { ref, ...box }, children);
}

/** Returns the effect of a click on a cell, counted from 0. */
export function clickAt(clicks: Clicks, column: number, row: number): Click | undefined {
  for (const [node, click] of clicks) {
    const { left, top, width, height } = placeOf(node);
    if (column >= left && column < left + width && row >= top && row < top + height) return click;
  }
  return undefined;
}

/** Returns a node's absolute position; Yoga's positions are relative to the parent box. */
function placeOf(node: DOMElement) {
  const { width = 0, height = 0 } = node.yogaNode?.getComputedLayout() ?? {};
  let [left, top] = [0, 0];
  for (let at: DOMElement | undefined = node; at !== undefined; at = at.parentNode) {
    left += at.yogaNode?.getComputedLeft() ?? 0;
    top += at.yogaNode?.getComputedTop() ?? 0;
  }
  return { left, top, width, height };
}

/**
 * Enables button reports with positions in SGR form. Motion reports stay off, since they would disable the terminal's
 * own selection.
 */
export const MOUSE_ON = '\u001b[?1000h\u001b[?1006h';
export const MOUSE_OFF = '\u001b[?1006l\u001b[?1000l';
const ESCAPE = '\u001b';
const REPORT = new RegExp(`${ESCAPE}\\[<(\\d{1,5});(\\d{1,5});(\\d{1,5})M`, 'g');
/** An incomplete report at the end of a read; the next read contains the rest. */
const BEGUN = new RegExp(`${ESCAPE}(?:\\[(?:<[\\d;]{0,17})?)?$`);
/** Actions by button number, without modifier keys: with Shift, the terminal makes its own selection. */
const ACTIONS: Readonly<Record<string, MouseAction>> = { 0: 'click', 64: 'wheel_up', 65: 'wheel_down' };

/**
 * Calls `onMouse` for each report while the component is mounted. Ink reads the terminal and drops mouse reports; each
 * of its reads also emits `data`, from which the hook takes them. Call it after `useInput`, whose `readable` listener
 * keeps control of the stream.
 */
export function useMouse(onMouse: (action: MouseAction, column: number, row: number) => void, isActive: boolean): void {
  const { stdin } = useStdin();
  const { stdout } = useStdout();
  const report = useEffectEvent(onMouse);
  useEffect(() => {
    if (!isActive) return;
    let begun = '';
    const onData = (chunk: string | Buffer) => {
      const text = begun + chunk.toString();
      begun = BEGUN.exec(text)?.[0] ?? '';
      for (const [, button = '', column, row] of text.matchAll(REPORT)) {
        const action = ACTIONS[button];
        if (action !== undefined) report(action, Number(column) - 1, Number(row) - 1);
      }
    };
    stdin.on('data', onData);
    stdout.write(MOUSE_ON);
    return () => {
      stdin.off('data', onData);
      stdout.write(MOUSE_OFF);
    };
  }, [stdin, stdout, isActive]);
}
