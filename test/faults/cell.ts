/**
 * A cell of the failure matrix: what a provider does, what the client sees, and what the request
 * costs.
 */
import type { ErrorCode } from '../../src/core/errors.ts';
import type { FailureReason } from '../../src/core/failure.ts';
import type { Script } from '../support/fake-upstream.ts';

/** What listens at the address of a provider. */
export type HostKind =
  | 'plain'
  | 'tls'
  | 'closed port'
  | 'blackhole'
  | 'unknown name'
  | 'expired certificate'
  | 'certificate of another host'
  | 'certificate of an unknown authority'
  | 'garbage in the handshake'
  | 'silence in the handshake'
  | 'end in the handshake';

/** What a host does with a request. A client that hangs up does so between the two steps. */
export interface Play {
  readonly opening?: Script;
  /**
   * The opening sends the client {@link HELLO}; nothing else happens before the client has read
   * that.
   */
  readonly isRead?: boolean;
  readonly fault: Script;
}

/** The provider's message in its errors; whether a client may read it depends on the error. */
export const WORDS = 'The flux capacitor is out of tune';
/**
 * The prompt and the model's answer; two of its characters take two bytes. The words occur in no
 * other text.
 */
export const PROMPT = 'Tell me of xylopyrography in Qaqortoq';
export const HELLO = 'Grüße: zwischenmolekular verquasselt';

export type Sight =
  /** Status 200, and everything the provider sent: at least this many bytes. */
  | { readonly kind: 'whole'; readonly leastBytes: number }
  /** An error response. */
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly says: string; readonly words: boolean }
  /** Status 200 and what arrived, then an error line and [DONE]. */
  | { readonly kind: 'cut'; readonly says: string; readonly words: boolean };

/** How a request is charged: not at all, by the count of the gateway, by the report of the provider, or as held. */
export type Charge = 'nothing' | 'counted' | 'reported' | 'held';

/** Which timeout ends the request at the latest; all others are much longer. */
export type End = 'at once' | 'connect' | 'first_byte' | 'idle' | 'after its answer';

/** For a client that stays connected. */
export interface Stays {
  readonly sees: Sight;
  readonly charge: Charge;
  /** How many requests reached the provider. */
  readonly asked: 0 | 1;
  readonly ends: End;
}

/**
 * For a client that hangs up. The outcome is `cancelled`, unless the failure may have been quicker.
 */
export interface Leaves {
  readonly outcome: 'cancelled' | 'cancelled or upstream_error';
  readonly charge: Charge;
  readonly asked: 0 | 1;
}

export interface Case {
  readonly play: Play;
  readonly stays: Stays;
  readonly leaves: Leaves;
}

export interface Fault {
  /** Completes the sentence "The provider …". */
  readonly what: string;
  readonly host: HostKind;
  /** For a JSON request and for a stream request; undefined if the failure cannot happen to it. */
  readonly json: Case | undefined;
  readonly stream: Case | undefined;
}

/** Failures of one kind. */
export interface Family {
  readonly title: string;
  /** What applies to all of them. */
  readonly about: string;
  readonly faults: readonly Fault[];
}

const CANNOT_BE_REACHED = 'cannot be reached';
export const NOT_IN_TIME = 'did not respond in time';
export const STOPPED_SENDING = 'stopped sending before its response was complete';
export const CONNECTION_LOST = 'was lost';
export const REPORTED = 'reported an error';
/** A host refuses the gateway's own key or model. */
export const OPERATOR_MUST = 'The operator of this gateway must check its base_url';
export const NO_PROGRESS = 'without any more of its response';
export const NOT_THE_FORMAT = 'not in the chat-completions format';

/** The reasons that the journal may give for a failure of which the client reads these words. */
const REASONS: Readonly<Record<string, readonly FailureReason[]>> = {
  [CANNOT_BE_REACHED]: ['not_connected'],
  [NOT_IN_TIME]: ['first_byte_timeout'],
  [STOPPED_SENDING]: ['idle_timeout'],
  [CONNECTION_LOST]: ['broken'],
  [REPORTED]: ['error_event', 'error_answer'],
  [OPERATOR_MUST]: ['error_event', 'error_answer'],
  [NO_PROGRESS]: ['no_progress'],
  [NOT_THE_FORMAT]: ['not_the_protocol'],
};

export function reasonsFor(sight: Sight): readonly (FailureReason | null)[] {
  return sight.kind === 'whole' ? [null] : (REASONS[sight.says] ?? ['http_status', 'rejected']);
}

/** A request that has reached the provider: from then on it may have worked. */
const LEFT: Leaves = { outcome: 'cancelled', charge: 'counted', asked: 1 };

function stays(sees: Sight, charge: Charge, ends: End): Stays {
  return { sees, charge, ends, asked: 1 };
}

/** A 502 with the gateway's own message, because the end of the provider's work was not seen. */
export function failed(says: string, charge: Charge = 'held', ends: End = 'at once'): Stays {
  return stays({ kind: 'error', code: 'upstream_error', says, words: false }, charge, ends);
}

/** An error response of the provider, which costs nothing. */
export function told(says: string, words: boolean, code: ErrorCode = 'upstream_error'): Stays {
  return stays({ kind: 'error', code, says, words }, 'nothing', 'at once');
}

/** A stream that ends with the error line. */
export function cut(says: string, ends: End = 'at once'): Stays {
  return stays({ kind: 'cut', says, words: false }, 'counted', ends);
}

/** A stream in which the provider itself reports the error. */
export function cutByError(words: boolean): Stays {
  return stays({ kind: 'cut', says: REPORTED, words }, 'counted', 'at once');
}

/** No failure, in the end. */
export function whole(charge: Charge = 'reported', ends: End = 'at once', leastBytes = 1): Stays {
  return stays({ kind: 'whole', leastBytes }, charge, ends);
}

/** A case in which the provider is reached. */
export function on(play: Play | Script, cell: Stays, leaves: Partial<Leaves> = {}): Case {
  return { play: typeof play === 'function' ? { fault: play } : play, stays: cell, leaves: { ...LEFT, ...leaves } };
}

export function fault(what: string, json: Case, stream: Case = json, host: HostKind = 'plain'): Fault {
  return { what, host, json: readOn(json), stream };
}

/** A request that is no stream is read to its end, so that it costs the same whether or not its client leaves. */
function readOn(json: Case): Case {
  const { asked, charge } = json.stays;
  return json.leaves.asked === 0 ? json : { ...json, leaves: { ...json.leaves, asked, charge } };
}

/** A failure that only a stream can have. */
export function streamFault(what: string, stream: Case): Fault {
  return { what, host: 'plain', json: undefined, stream };
}

/** A provider that is never reached, so it cannot have worked. */
export function unreached(what: string, host: HostKind, ends: End): Fault {
  const never: Script = () => {
    throw new Error('a request arrived where none can');
  };
  const leaves: Leaves = {
    outcome: ends === 'at once' ? 'cancelled or upstream_error' : 'cancelled',
    charge: 'nothing',
    asked: 0,
  };
  const both = {
    play: { fault: never },
    stays: { ...failed(CANNOT_BE_REACHED, 'nothing', ends), asked: 0 },
    leaves,
  } as const;
  return fault(what, both, both, host);
}
