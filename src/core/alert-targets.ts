/** Where alerts go, as the config has it. */

/** `json` is the documented event, `slack` a message as Slack and what is compatible with it take one. */
export type AlertFormat = 'json' | 'slack';

interface TargetBase {
  /** For people: `webhook 1`, `command`. */
  readonly name: string;
  /** The variable that must be set for it to be used; undefined if it is used. */
  readonly missingVariable: string | undefined;
}

export interface WebhookTarget extends TargetBase {
  readonly kind: 'webhook';
  /** A secret: whoever knows it can post there. */
  readonly url: string;
  /** What its requests are signed with; undefined if they are not. */
  readonly secret: string | undefined;
  readonly format: AlertFormat;
}

export interface CommandTarget extends TargetBase {
  readonly kind: 'command';
  /** The program, and its arguments. */
  readonly words: readonly string[];
}

export type AlertTarget = WebhookTarget | CommandTarget;

/** How secrets of Standard Webhooks begin; their key follows in base64. */
const KEY_PREFIX = 'whsec_';
/** Of such a key, in bytes, as that specification says. */
const KEY_BYTES = { least: 24, most: 64 } as const;
export const KEY_EXPECTED = `expected ${KEY_PREFIX} and then ${KEY_BYTES.least} to ${KEY_BYTES.most} bytes in base64`;

/** The key that a secret stands for: any other than those of Standard Webhooks is one as it is. */
export function signingKeyOf(secret: string): Buffer {
  return secret.startsWith(KEY_PREFIX) ? Buffer.from(secret.slice(KEY_PREFIX.length), 'base64') : Buffer.from(secret);
}

/** False where a secret begins as one of Standard Webhooks does, and is none. */
export function isSigningSecret(secret: string): boolean {
  if (!secret.startsWith(KEY_PREFIX)) return true;
  const key = signingKeyOf(secret);
  const isBase64 = `${KEY_PREFIX}${key.toString('base64')}` === secret;
  return isBase64 && key.length >= KEY_BYTES.least && key.length <= KEY_BYTES.most;
}

/** What can be shown of an address: the rest of a webhook's is a secret. */
export function shownTarget(target: AlertTarget): string {
  switch (target.kind) {
    case 'webhook':
      return URL.canParse(target.url) ? `${new URL(target.url).origin}/…` : '…';
    case 'command':
      return target.words[0] ?? '…';
  }
}
