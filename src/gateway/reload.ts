/** What a running gateway can apply of another config. */
import type { Config } from '../config/config.ts';
import { UserError } from '../core/errors.ts';

/** Fields that only a restart can change, by their names in the config file. */
const RESTART_FIELDS: readonly (readonly [name: string, read: (config: Config) => unknown])[] = [
  ['listen', ({ listen }) => `${listen.host} ${listen.port}`],
  // Other files are read at once.
  ['tls', ({ tls }) => tls !== undefined],
  ['http', ({ http }) => http],
  ['threads', ({ threads }) => threads],
  ['state', ({ state }) => JSON.stringify(state)],
  // A gateway that owns its state goes by no name.
  ['node', ({ state, node }) => (state.kind === 'file' ? undefined : node)],
  ['durability', ({ durability }) => durability],
  ['health', ({ health }) => JSON.stringify(health)],
  ['metrics', ({ metrics }) => JSON.stringify(metrics)],
  ['otel', ({ otel }) => JSON.stringify(otel)],
];

/** Throws a UserError if a field has changed that only a restart can apply. */
export function assertReloadable(current: Config, next: Config): void {
  // Without a file the defaults apply, but an operator who reloads does not mean those.
  if (current.path !== undefined && next.path === undefined) {
    throw new UserError(`the config file ${current.path} no longer exists; put it back`);
  }
  const changed = RESTART_FIELDS.filter(([, read]) => read(next) !== read(current));
  if (changed.length > 0) {
    throw new UserError(changed.map(([name]) => `${name}: restart the gateway to change this`));
  }
}
