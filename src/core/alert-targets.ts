/** The configured destinations of alerts. */

/** `json`: the documented event. `slack`: a message for Slack and compatible services. */
export type AlertFormat = 'json' | 'slack';

interface TargetBase {
  /** Display name: `webhook 1`, `command`. */
  readonly name: string;
  /** The environment variable that is unset and therefore disables the target; undefined if the target is enabled. */
  readonly missingVariable: string | undefined;
}

export interface WebhookTarget extends TargetBase {
  readonly kind: 'webhook';
  /** A secret: anybody with this URL can post to the webhook. */
  readonly url: string;
  /** Signing secret of the requests; undefined for unsigned requests. */
  readonly secret: string | undefined;
  readonly format: AlertFormat;
}

export interface CommandTarget extends TargetBase {
  readonly kind: 'command';
  /** The program and its arguments. */
  readonly words: readonly string[];
}

export type AlertTarget = WebhookTarget | CommandTarget;

/** Prefix of Standard Webhooks secrets; the key follows in base64. */
const KEY_PREFIX = 'whsec_';
/** Key length in bytes, from the Standard Webhooks specification. */
const KEY_BYTES = { least: 24, most: 64 } as const;
export const KEY_EXPECTED = `expected ${KEY_PREFIX} and then ${KEY_BYTES.least} to ${KEY_BYTES.most} bytes in base64`;

/** Returns the key bytes of a secret. A secret without the Standard Webhooks prefix is itself the key. */
export function signingKeyOf(secret: string): Buffer {
  return secret.startsWith(KEY_PREFIX) ? Buffer.from(secret.slice(KEY_PREFIX.length), 'base64') : Buffer.from(secret);
}

/**
 * Reports whether a secret is valid: with the Standard Webhooks prefix, it must continue with a base64 key of permitted length.
 */
export function isSigningSecret(secret: string): boolean {
  if (!secret.startsWith(KEY_PREFIX)) return true;
  const key = signingKeyOf(secret);
  const isBase64 = `${KEY_PREFIX}${key.toString('base64')}` === secret;
  return isBase64 && key.length >= KEY_BYTES.least && key.length <= KEY_BYTES.most;
}

/** Returns the displayable part of a target. The path of a webhook URL is a secret. */
export function shownTarget(target: AlertTarget): string {
  switch (target.kind) {
    case 'webhook':
      return URL.canParse(target.url) ? `${new URL(target.url).origin}/…` : '…';
    case 'command':
      return target.words[0] ?? '…';
  }
}
