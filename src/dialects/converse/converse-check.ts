/** What the gateway acts on in a request of Converse. A translation has written it, so there is nothing to refuse. */
import { isObject } from '../../core/json.ts';
import type { JsonBody } from '../../wire/body.ts';
import { countOf } from '../answer.ts';
import { longestLifetime } from '../cache-lifetime.ts';
import type { Checked, Dialect, Fields } from '../dialect.ts';
import { textRequest } from '../text-request.ts';
import { hiddenThinkingOfMessages } from '../thinking.ts';

export function checkConverse(dialect: Dialect, body: JsonBody, model: string): Checked {
  const { fields } = body;
  const maximum = countOf(within(fields, 'inferenceConfig').maxTokens);
  const { type: tier } = within(fields, 'serviceTier');
  const { thinking } = within(fields, 'additionalModelRequestFields');
  return {
    ok: true,
    request: textRequest(dialect, body, model, maximum, {
      serviceTier: typeof tier === 'string' ? tier : undefined,
      hiddenThinking: hiddenThinkingOfMessages({ thinking, output_config: fields.outputConfig }),
      cacheWrite: longestLifetime(fields, ['cachepoint'], '5m'),
      hostTools: [],
    }),
  };
}

function within(fields: Fields, name: string): Fields {
  const value = fields[name];
  return isObject(value) ? value : {};
}
