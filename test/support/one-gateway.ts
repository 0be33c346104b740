/** A gateway that the tests of a file share, one after the other, where none of them needs a fresh one. */
import { type GatewayOptions, startTestGateway, type TestGateway } from './gateway.ts';

/** Anything that runs clean-ups at its end, such as a file. */
interface Scope {
  after(cleanUp: () => void | Promise<void>): void;
}

/** Starts it. What this returns runs a test on it; afterwards everything must be settled. */
export function oneGateway(
  scope: Scope,
  options: GatewayOptions = {},
): (run: (gateway: TestGateway) => Promise<void>) => Promise<void> {
  const started = startTestGateway(options);
  scope.after(async () => (await started).stop());
  return async (run) => {
    const gateway = await started;
    await run(gateway);
    await gateway.assertSettled();
  };
}
