/**
 * The secrets of the test, each unlike any other text, and those that a client must never receive.
 */
import { mintKey } from '../../src/core/api-key.ts';
import { HELLO, PROMPT, WORDS } from '../faults/cell.ts';
import { UPSTREAM_KEY } from '../faults/site.ts';

/** Secrets of the operator. */
export const OPERATORS = {
  'upstream key': UPSTREAM_KEY,
  'upstream key of a file': 'fk-7Yp2cWm5Xv8Jb1Tn4Rg6Lk9D',
  'configured header': 'hd-3Hs6Fq9Zx2Vc5Bn8Mk1Lp4Wj',
  'path of the base URL': 'pt-9Bv4Nc7Md2Xs5Zk8Fq1Gw6Hy',
  'query of the base URL': 'qy-5Tg8Yh2Uj6Ik9Ol3Pz7Xa1Se',
} as const;

/** An unknown key that is well-formed, and one that is not: both are secrets of some client. */
export const MISTYPED_KEY = `${mintKey().slice(0, -1)}-`;

/** What clients send and receive. */
const CONTENTS = {
  prompt: PROMPT,
  'description of a tool': 'Opens the sluice of the Vltava cascade',
  answer: HELLO,
  'arguments of a tool call': 'Lipno/Orlik?gate=17&flow=brisk',
  'words of a provider': WORDS,
} as const;

export const TOOL_TEXT = CONTENTS['description of a tool'];
export const CALL_TEXT = CONTENTS['arguments of a tool call'];

/** None of these may be found anywhere except in transit. */
export function allSecrets(clientKey: string): Record<string, string> {
  return { 'client key': clientKey, 'mistyped client key': MISTYPED_KEY, ...OPERATORS, ...CONTENTS };
}

/** None of these may be in an answer. */
export function secretsBeforeClients(clientKey: string): Record<string, string> {
  return { 'client key': clientKey, 'mistyped client key': MISTYPED_KEY, ...OPERATORS };
}
