/** One figure of the measurement, and the most it may be. */
export interface Cost {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** Undefined for a figure that is only there for comparison. */
  readonly most?: number;
}

export const MOST_MEMORY_MB = 200;
export const MOST_IDLE_PERCENT = 3;
export const MOST_LATENCY_MS = 60;
export const MOST_SWITCH_MS = 100;
export const MOST_LOST_PERCENT = 3;
