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
  /** The key of the signatures. */
  readonly secret: string | undefined;
  readonly format: AlertFormat;
}

export interface CommandTarget extends TargetBase {
  readonly kind: 'command';
  /** The program, and its arguments. */
  readonly words: readonly string[];
}

export type AlertTarget = WebhookTarget | CommandTarget;

/** What can be shown of an address: the rest of a webhook's is a secret. */
export function shownTarget(target: AlertTarget): string {
  switch (target.kind) {
    case 'webhook':
      return URL.canParse(target.url) ? `${new URL(target.url).origin}/…` : '…';
    case 'command':
      return target.words[0] ?? '…';
  }
}
