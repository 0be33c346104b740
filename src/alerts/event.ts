/** What an alert says: as JSON for programs, and as a message of Slack. Pure. */
import type { AlertFormat } from '../core/alert-targets.ts';
import { isoTime } from '../core/clock.ts';
import { newId } from '../core/ids.ts';

export type AlertKind =
  | 'budget'
  | 'runway'
  | 'upstream_down'
  | 'upstream_up'
  | 'refused_for_money'
  | 'storage_fault'
  | 'storage_recovered'
  | 'test';

export type Severity = 'info' | 'warning' | 'critical';

/** The worst first. */
export const SEVERITIES: readonly Severity[] = ['critical', 'warning', 'info'];

export interface AlertFacts {
  readonly kind: AlertKind;
  readonly severity: Severity;
  /** A sentence for people, without a full stop. */
  readonly text: string;
  /** The key that it is about; undefined if it is about something else, or about the account. */
  readonly key?: { readonly id: string; readonly name: string } | undefined;
  /** The same of a group. */
  readonly group?: { readonly id: string; readonly name: string } | undefined;
  readonly upstream?: string | undefined;
  /** Decimal strings, times and codes. Null where there is none. */
  readonly figures: Readonly<Record<string, string | null>>;
}

/** An event as receivers get it. */
export interface AlertEvent {
  /** The same in every attempt to deliver it. */
  readonly id: string;
  readonly kind: AlertKind;
  readonly severity: Severity;
  readonly at: string;
  /** The name of the gateway that tells it. */
  readonly gateway: string;
  readonly text: string;
  readonly key: { readonly id: string; readonly name: string } | null;
  readonly group: { readonly id: string; readonly name: string } | null;
  readonly upstream: string | null;
  readonly figures: Readonly<Record<string, string | null>>;
}

export function eventOf(facts: AlertFacts, gateway: string, nowMs: number): AlertEvent {
  const { kind, severity, text, key, group, upstream, figures } = facts;
  return {
    id: newId('alert', nowMs),
    kind,
    severity,
    at: isoTime(nowMs),
    gateway,
    text,
    key: key ?? null,
    group: group ?? null,
    upstream: upstream ?? null,
    figures,
  };
}

/** What `alerts test` sends. */
export function testEvent(gateway: string, nowMs: number): AlertEvent {
  const text = 'this is a test: alerts reach this place';
  return eventOf({ kind: 'test', severity: 'info', text, figures: {} }, gateway, nowMs);
}

/** The body of a webhook's request, from an event as JSON. */
export function bodyFor(format: AlertFormat, event: string): string {
  switch (format) {
    case 'json':
      return event;
    case 'slack': {
      const { severity, gateway, text } = JSON.parse(event) as AlertEvent;
      return JSON.stringify({ text: escapeSlack(`[${severity}] inf-gw ${gateway}: ${text}`) });
    }
  }
}

/** These begin links and mentions there: a key may be called `<!channel>`. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** What came of an attempt to deliver an event. */
export interface Answer {
  readonly isDelivered: boolean;
  /** For operators, in a few words, and with nothing that is secret. */
  readonly text: string;
}
