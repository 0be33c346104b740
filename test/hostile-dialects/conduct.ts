/** What the hosts of composed attacks do: where and how much they write, what they do not show, what they report, how they end. */
import type { LeavingPoint } from '../hostile/conversation.ts';
import { DEFAULT_OUTPUT } from '../hostile/site.ts';
import { ALL_ALPHABETS } from '../hostile/texts.ts';
import { piecesFor } from '../hostile/writing.ts';
import type { Random } from '../support/random.ts';
import { type Conduct, type End, type Field, type Loss, type Report, UNUSUAL_FIELDS } from './dialogue.ts';
import type { ModelName } from './pricing.ts';
import type { Direction } from './requests.ts';

/** A request as it is being composed. */
export interface Draft {
  readonly direction: Direction;
  readonly model: ModelName;
  readonly isStream: boolean;
  readonly leaves: LeavingPoint;
  /** The maximum that it declares, if any. */
  readonly maximum: number | undefined;
  /** Whether it asks for thinking. */
  readonly thinks: boolean;
}

/** Most tokens that a model is asked to write. */
const MOST_WRITTEN = 900;
const REPORTS: readonly Report[] = [
  ...(['end', 'end', 'end', 'late', 'each event', 'early', 'never'] as const),
  ...[-1, 1.5, 1e12, '7'].map((impossible) => ({ impossible })),
];

export const isNative = ({ direction: { client, host } }: Draft) => client === host;

/** Whether it may be answered aloud. */
export function isSpeaking(draft: Draft): boolean {
  return draft.model === 'speaking' && isNative(draft) && draft.direction.client === 'chat';
}

export function conductFor(draft: Draft, random: Random): Partial<Conduct> {
  const { isStream, leaves, maximum, thinks } = draft;
  const field = random.pick(fieldsOf(draft, random));
  const isShown = field !== 'thinking' || thinks || isNative(draft);
  // Speech has many tokens for a word.
  const alphabet = field === 'speech' ? 'prose' : random.pick(ALL_ALPHABETS);
  const report = random.pick(REPORTS);
  const end = endOf(draft, report, random);
  const tokens = random.pick(isShown ? [1, 20, DEFAULT_OUTPUT, 250, MOST_WRITTEN] : [1, 20, DEFAULT_OUTPUT]);
  const most = Math.min(tokens, maximum ?? tokens);
  const loss = lossOf(draft, random);
  const canHide = maximum !== undefined && maximum > most && isHidingKnown(draft, report) && canHideIn(draft, loss);
  // Of a stream that is left on its arrival nobody has seen any call.
  const isUnseen = isStream && leaves === 'arrival';
  return {
    alphabet,
    field,
    tokens: most,
    hidden: canHide && random.chance(0.5) ? random.between(1, maximum - most) : 0,
    report,
    piecesAtOnce: field === 'speech' ? 1 : piecesFor(alphabet, random.pick(lengthsOf(isShown))),
    calls: isUnseen ? 0 : random.pick([0, 1, 3, 10]),
    opened: isUnseen ? 0 : random.pick([0, 0, 2]),
    found: random.pick([0, 8_000, 30_000]),
    isUnpredicted: random.chance(0.5),
    // More than one is not held where no maximum is declared.
    images: draft.model === 'drawing' && draft.direction.host === 'chat' ? random.pick([0, 1]) : 0,
    // An error does not show the images that its report counts.
    isImageTold: end === 'failed' || random.chance(0.7),
    end,
    loss,
  };
}

/** A maximum bounds what may be billed of an end that is not seen, where all of it is held. */
function lossOf({ model, isStream, leaves, maximum }: Draft, random: Random): Loss | undefined {
  if (maximum === undefined || leaves !== 'never' || !random.chance(0.08)) return undefined;
  // The first hold of a growing stream does not cover output that was never shown.
  const after = isStream && model === 'growing' ? 'a part' : random.pick(['nothing', 'the head', 'a part'] as const);
  return { how: 'reset', after };
}

/** A stream that is lost is charged only for hidden reasoning that its request asks for. */
function canHideIn({ isStream, thinks }: Draft, loss: Loss | undefined): boolean {
  return loss === undefined || !isStream || thinks;
}

/** A hold cannot grow within an event, so none is longer than a step. */
function lengthsOf(isShown: boolean): readonly number[] {
  return isShown ? [1, DEFAULT_OUTPUT / 4, DEFAULT_OUTPUT / 2] : [DEFAULT_OUTPUT / 2];
}

/** A host waits for a client that reads nothing, such as thinking that it has not asked for. */
function fieldsOf(draft: Draft, random: Random): readonly Field[] {
  const { thinks, direction } = draft;
  if (isSpeaking(draft) && random.chance(0.7)) return ['speech'];
  const isShown = thinks || isNative(draft) || random.chance(0.1);
  if (!isShown) return ['text', 'call'];
  if (!isNative(draft) || random.chance(0.7)) return ['text', 'call', 'thinking'];
  return UNUSUAL_FIELDS[direction.client].filter((field) => field !== 'speech');
}

/**
 * Whether a gateway can know of thinking that is never sent: because it is reported. Without a report it counts by its
 * time, and this host takes none for it.
 */
function isHidingKnown({ direction, model, isStream, leaves, thinks }: Draft, report: Report): boolean {
  if (!isReport(report)) return false;
  // A stream whose hold may grow can be cut before its report.
  if (model === 'growing' && !thinks) return false;
  return !isStream || leaves === 'never' || (leaves === 'finish reason' && direction.host === 'messages');
}

/** Whether the host says in the end what it bills. */
function isReport(report: Report): boolean {
  return report === 'end' || report === 'late';
}

/** An error without a report bills nothing, but for what a stream has written before it. Filters are of hosts of chat and responses. */
function endOf({ direction: { host }, isStream, leaves }: Draft, report: Report, random: Random): End {
  const canFail = isStream ? leaves === 'never' || leaves === 'middle' : isReport(report);
  if (canFail && random.chance(0.06)) return 'failed';
  return host !== 'messages' && leaves === 'never' && random.chance(0.03) ? 'filtered' : 'whole';
}
