/** One figure of the measurement, and the most it may be. */
export interface Cost {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** Undefined for a figure that is only there for comparison. */
  readonly most?: number;
}

export const MOST_MEMORY_MB = 200;
/** At rest, with few keys and with 10,000. */
export const MOST_IDLE_PERCENT = { few: 3, many: 5 };
/** By the size of the terminal: the cost of a frame grows with its cells. */
export const MOST_LATENCY_MS = { '120x40': 60, '200x60': 100 };
export const MOST_SWITCH_MS = 100;
export const MOST_LOST_PERCENT = 3;
