/** Format of alerts: JSON for programs, and messages for Slack. */
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

/** The most severe first. */
export const SEVERITIES: readonly Severity[] = ['critical', 'warning', 'info'];

export interface AlertFacts {
  readonly kind: AlertKind;
  readonly severity: Severity;
  /** A sentence for people, without a full stop. */
  readonly text: string;
  /** The affected key, if any. */
  readonly key?: { readonly id: string; readonly name: string } | undefined;
  /** The affected group, if any. */
  readonly group?: { readonly id: string; readonly name: string } | undefined;
  readonly upstream?: string | undefined;
  /** Decimal strings, times and codes; null for missing values. */
  readonly figures: Readonly<Record<string, string | null>>;
}

/** An event as sent to receivers. */
export interface AlertEvent {
  /** Equal in all delivery attempts. */
  readonly id: string;
  readonly kind: AlertKind;
  readonly severity: Severity;
  readonly at: string;
  /** The name of the sending gateway. */
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

/** The event sent by `alerts test`. */
export function testEvent(gateway: string, nowMs: number): AlertEvent {
  const text = 'this is a test: alerts reach this place';
  return eventOf({ kind: 'test', severity: 'info', text, figures: {} }, gateway, nowMs);
}

/** Returns the body of a webhook request for an event in JSON. */
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

/** Escapes link and mention syntax: a key may be named `<!channel>`. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Result of a delivery attempt. */
export interface Answer {
  readonly isDelivered: boolean;
  /** Short result for operators, without secrets. */
  readonly text: string;
}
