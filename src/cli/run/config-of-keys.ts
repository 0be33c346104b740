/** The config of a run without a config file: the providers whose keys are in the environment. */
import type { Config } from '../../config/config.ts';
import { activeProviders } from '../../config/example.ts';
import { parseWithoutFile } from '../../config/load.ts';
import { isWellFormedKey } from '../../core/api-key.ts';

/** A key of a gateway, for example of an outer `run`, must not be sent to a provider. */
export function withoutGatewayKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value = '']) => !isWellFormedKey(value.trim())));
}

/** A config with the providers whose keys are set. Only the budgets of keys limit its spending: credit is off. */
export function configOfKeys(environment: NodeJS.ProcessEnv, folder: string): Config {
  const texts = activeProviders(environment).map(({ text }) => text);
  const text = `state: ./inf-gw.db\ncredit: off\nproviders:\n${texts.join('\n\n')}\n`;
  return parseWithoutFile(text, environment, folder);
}
