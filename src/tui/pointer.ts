/** Mouse clicks, wheel turns, and the actions of a click. */

export type MouseAction = 'click' | 'wheel_up' | 'wheel_down';

/** The effect of a click: a key press, or the choice of an item. */
export interface Click {
  readonly on: 'key' | 'view' | 'row' | 'head' | 'trouble' | 'chart_range' | 'usage_group' | 'usage_range';
  /** The key or item; for a row, its index in the open list. */
  readonly which: string | number;
}
