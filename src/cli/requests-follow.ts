/** `requests --follow`: requests as they end at the gateway of this config. */
import { setTimeout as pause } from 'node:timers/promises';
import { readSnapshot } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { isErrorOutcome } from '../core/settlement.ts';
import { MAX_ENDED } from '../observe/worker-snapshot.ts';
import { exactUsd, milliseconds, short } from '../operator/format.ts';
import { SIGNS, type Tone } from '../operator/health.ts';
import { durationOf } from '../operator/request-fields.ts';
import { type Look, zoneOf } from '../operator/table.ts';
import { clean, fit } from '../operator/text.ts';
import type { RequestRecord } from '../state/requests.ts';
import { notice } from './output.ts';
import type { State } from './state.ts';

const EVERY_MS = 1_000;

/**
 * Asks the gateway each second for ended requests, and reads each from the journal. Returns when the gateway
 * stops. Throws a UserError if none runs at first.
 */
export async function followRequests(
  { config, requests }: State,
  isShown: (request: RequestRecord) => boolean,
  show: (requests: readonly RequestRecord[]) => void,
): Promise<void> {
  let endedSinceMs = Date.now();
  // The last millisecond may not be over, so its requests are reported again.
  let seen: ReadonlySet<string> = new Set();
  for (let isFirst = true; ; isFirst = false) {
    const snapshot = await readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: MAX_ENDED, endedSinceMs });
    if (snapshot === undefined) {
      if (!isFirst) return notice('The gateway has stopped.');
      throw new UserError(`no gateway of this config is running here; start one with: ${program()} serve`);
    }
    const news = snapshot.recent.filter(({ id }) => !seen.has(id));
    if (news.length >= MAX_ENDED) notice(`note: more than ${MAX_ENDED} requests ended in a second; some are not shown`);
    const found = await Promise.all(news.map(({ id }) => requests.find(id)));
    const shown = found.filter((request) => request?.end !== undefined && isShown(request));
    if (shown.length > 0) show(shown as RequestRecord[]);
    endedSinceMs = snapshot.recent.at(-1)?.ended_at_ms ?? endedSinceMs;
    seen = new Set(snapshot.recent.map(({ id }) => id));
    await pause(EVERY_MS);
  }
}

/** The widths of the name of the key and of the model. */
const KEY_COLUMNS = 16;
const MODEL_COLUMNS = 28;

/** One line for an ended request, in columns of fixed widths: later lines must not move. */
export function followedLine(request: RequestRecord, { room, paint }: Look): string {
  const { end, key, model, id } = request;
  const outcome = end?.outcome ?? 'ok';
  const tone: Tone = isErrorOutcome(outcome) ? 'bad' : outcome === 'ok' ? 'good' : 'warn';
  const zone = zoneOf({ room, paint });
  const atMs = end?.settledAtMs ?? request.admittedAtMs;
  const time = `${isoTime(atMs + zone(atMs)).slice(11, 19)}${zone(atMs) === 0 ? 'Z' : ''}`;
  const failure = end?.failure === undefined ? '' : `  ${clean(end.failure.message)}`;
  return [
    time,
    paint(fit(`${SIGNS[tone]} ${outcome}`, 16), tone),
    fit(key, KEY_COLUMNS),
    fit(model, MODEL_COLUMNS),
    fit(milliseconds(durationOf(request)), 8, 'right'),
    fit(`${short(end?.promptTokens ?? 0)}+${short(end?.completionTokens ?? 0)} tokens`, 18, 'right'),
    fit(`${exactUsd(end?.costNanos ?? 0n)} USD`, 16, 'right'),
    `${id}${failure}`,
  ].join('  ');
}
