/** What the gateway acts on in a request of Converse. A translation has written it, so there is nothing to refuse. */
import { isObject } from '../../core/json.ts';
import { MAX_TPM } from '../../core/limits.ts';
import type { JsonBody } from '../../wire/body.ts';
import { countOf } from '../answer.ts';
import { audioBytesPerToken } from '../audio-output.ts';
import { longestLifetime } from '../cache-lifetime.ts';
import type { Checked, Dialect, Fields } from '../dialect.ts';
import { hiddenThinkingOfMessages } from '../thinking.ts';

export function checkConverse(dialect: Dialect, body: JsonBody, model: string): Checked {
  const { fields } = body;
  const maximum = countOf(within(fields, 'inferenceConfig').maxTokens);
  const { type: tier } = within(fields, 'serviceTier');
  const { thinking } = within(fields, 'additionalModelRequestFields');
  return {
    ok: true,
    request: {
      dialect,
      body,
      model,
      stream: fields.stream === true,
      includeUsage: true,
      maxOutput: maximum === undefined ? undefined : Math.min(maximum, MAX_TPM),
      choices: 1,
      serviceTier: typeof tier === 'string' ? tier : undefined,
      hiddenThinking: hiddenThinkingOfMessages({ thinking, output_config: fields.outputConfig }),
      hasAudio: false,
      predictedTokens: 0,
      audioBytesPerToken: audioBytesPerToken(),
      cacheWrite: longestLifetime(fields, ['cachepoint'], '5m'),
      summarizesAbove: undefined,
      hostTools: [],
    },
  };
}

function within(fields: Fields, name: string): Fields {
  const value = fields[name];
  return isObject(value) ? value : {};
}
