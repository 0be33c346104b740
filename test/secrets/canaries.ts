/** The secrets of the test, each unlike any other text, and what a client may never read of them. */
import { mintKey } from '../../src/core/api-key.ts';
import { HELLO, PROMPT, WORDS } from '../faults/cell.ts';
import { UPSTREAM_KEY } from '../faults/site.ts';

/** The operator's own. */
export const OPERATORS = {
  'upstream key': UPSTREAM_KEY,
  'upstream key of a file': 'fk-7Yp2cWm5Xv8Jb1Tn4Rg6Lk9D',
  'configured header': 'hd-3Hs6Fq9Zx2Vc5Bn8Mk1Lp4Wj',
  'query of the base URL': 'qy-5Tg8Yh2Uj6Ik9Ol3Pz7Xa1Se',
} as const;

/** A key that looks as if it were one of ours, and a key that it is not: both are some client's secret all the same. */
export const MISTYPED_KEY = `${mintKey().slice(0, -1)}-`;

/** What clients send and get. */
const CONTENTS = {
  prompt: PROMPT,
  'description of a tool': 'Opens the sluice of the Vltava cascade',
  answer: HELLO,
  'arguments of a tool call': 'Lipno/Orlik?gate=17&flow=brisk',
  'words of a provider': WORDS,
} as const;

export const TOOL_TEXT = CONTENTS['description of a tool'];
export const CALL_TEXT = CONTENTS['arguments of a tool call'];

/** Nowhere but on their way may any of these stand. */
export function allSecrets(clientKey: string): Record<string, string> {
  return { 'client key': clientKey, 'mistyped client key': MISTYPED_KEY, ...OPERATORS, ...CONTENTS };
}

/** What no answer may hold. */
export function secretsBeforeClients(clientKey: string): Record<string, string> {
  return { 'client key': clientKey, 'mistyped client key': MISTYPED_KEY, ...OPERATORS };
}
