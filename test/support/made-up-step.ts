/** A later version of this program, which has one more step of its tables. */
import type { Cleanup } from '../state/stage.ts';

/** The steps are those of either store. They are as before when the test ends. */
export function addStep(test: Cleanup, migrations: readonly string[], step: string): void {
  const steps = migrations as string[];
  steps.push(step);
  test.after(() => void steps.pop());
}
