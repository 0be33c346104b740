/** Clicks and turns of the wheel, and the actions that a click can have. */

export type MouseAction = 'click' | 'wheel_up' | 'wheel_down';

/** The effect of a click: it presses a key, or chooses an item. */
export interface Click {
  readonly on: 'key' | 'view' | 'row' | 'head' | 'trouble' | 'chart_range' | 'usage_group' | 'usage_range';
  /** The key or the item; a row by its index in the open list. */
  readonly which: string | number;
}
