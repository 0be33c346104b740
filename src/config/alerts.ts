/** Resolves the references in `alerts` of the config, and checks its addresses. */
import { resolve } from 'node:path';
import {
  type AlertTarget,
  type CommandTarget,
  isSigningSecret,
  KEY_EXPECTED,
  type WebhookTarget,
} from '../core/alert-targets.ts';
import type { ParsedAlerts } from './alerts-schema.ts';
import type { AddProblem } from './document.ts';
import { type Expanded, expandField, type ReferenceSource } from './secrets.ts';

/**
 * The targets of alerts. A target whose variables are not set is left out with a warning when the gateway runs: commands
 * often run without these variables.
 */
export function buildAlerts(
  parsed: ParsedAlerts | undefined,
  source: ReferenceSource,
  addProblem: AddProblem,
  warnings: string[],
): readonly AlertTarget[] {
  if (parsed === undefined) return [];
  const expand = (path: PropertyKey[], text: string) =>
    expandField(text, source, (message) => addProblem(['alerts', ...path], message));
  const webhooks = parsed.webhooks.map(({ url, secret, format }, index): WebhookTarget => {
    const path = ['webhooks', index];
    const address = expand([...path, 'url'], url);
    const key = secret === undefined ? undefined : expand([...path, 'secret'], secret);
    checkUrl(address, (message) => addProblem(['alerts', ...path, 'url'], message));
    if (key !== undefined && !isSigningSecret(key.value)) addProblem(['alerts', ...path, 'secret'], KEY_EXPECTED);
    return {
      kind: 'webhook',
      name: `webhook ${index + 1}`,
      url: address.value,
      secret: key?.value,
      format,
      missingVariable: address.missingVariable ?? key?.missingVariable,
    };
  });
  const targets = [...webhooks, ...commandOf(parsed, source, expand)];
  for (const { name, missingVariable } of targets) {
    if (missingVariable !== undefined) warnings.push(`alerts: no ${name}, because ${missingVariable} is not set`);
  }
  return targets;
}

/** Errors do not show the address, which may be a secret. */
function checkUrl({ value, missingVariable }: Expanded, report: (message: string) => void): void {
  if (missingVariable !== undefined) return;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    report('expected an address that begins with https:// or http://');
  }
}

function commandOf(
  { command }: ParsedAlerts,
  { baseDirectory }: ReferenceSource,
  expand: (path: PropertyKey[], text: string) => Expanded,
): CommandTarget[] {
  if (command === undefined) return [];
  const words = command.map((word) => expand(['command'], word));
  const [program = '', ...rest] = words.map(({ value }) => value);
  return [
    {
      kind: 'command',
      name: 'command',
      // A name without a slash is looked up in PATH.
      words: [program.includes('/') ? resolve(baseDirectory, program) : program, ...rest],
      missingVariable: words.find(({ missingVariable }) => missingVariable !== undefined)?.missingVariable,
    },
  ];
}
