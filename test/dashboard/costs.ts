/** What a part of the measurement found, and what it may be. */
export interface Cost {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** Undefined where it is told for comparison alone. */
  readonly most?: number;
}

export const MOST_MEMORY_MB = 150;
export const MOST_IDLE_PERCENT = 5;
export const MOST_LATENCY_MS = 50;
export const MOST_LOST_PERCENT = 2;
