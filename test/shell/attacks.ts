/** What slowhttptest does to a gateway, and for how long the gateway may put up with each connection. */

/** The time-outs of the gateway that is attacked, in seconds. */
export const REQUEST_S = 5;
export const IDLE_S = 5;
/** For looks that are half a second apart, and for a machine that has other things to do. */
const GRACE_S = 3;
const KEEP_ALIVE_S = 76;

export interface Target {
  readonly url: string;
  readonly key: string;
  readonly connections: number;
}

export interface Attack {
  readonly name: string;
  /** How long a connection may live, in seconds. */
  readonly boundS: number;
  /** Of the connections that the run makes. */
  readonly share: number;
  /** Others are answered at once, and close: few of them are ever seen. */
  readonly isHeld: boolean;
  words(target: Target): readonly string[];
}

/** slowhttptest has no option for other headers, but takes a cookie as it is. */
const keyed = (key: string) => ['-j', `a=b\r\nAuthorization: Bearer ${key}`];
/** Pieces come every second, and nobody gives up by itself before the gateway does. */
const common = ({ connections }: Target, url: string, seconds: number) => [
  ...['-c', String(connections), '-r', String(Math.ceil(connections / 2)), '-i', '1', '-p', '2'],
  ...['-l', String(seconds), '-u', url],
];
const completions = ({ url }: Target) => `${url}/v1/chat/completions`;

const READING = ['-X', '-k', '10', '-n', '5', '-w', '1', '-y', '64', '-z', '1'];

export const ATTACKS: readonly Attack[] = [
  {
    name: 'slow headers (-H)',
    boundS: REQUEST_S + GRACE_S,
    share: 1,
    isHeld: true,
    words: (target) => ['-H', '-x', '8', ...common(target, completions(target), 30)],
  },
  {
    name: 'slow bodies (-B)',
    boundS: REQUEST_S + GRACE_S,
    share: 1,
    isHeld: false,
    words: (target) => ['-B', '-x', '8', '-s', '65536', ...common(target, completions(target), 30)],
  },
  {
    name: 'slow bodies with a key (-B)',
    boundS: REQUEST_S + GRACE_S,
    share: 1,
    isHeld: true,
    words: (target) => [
      ...['-B', '-x', '8', '-s', '65536', ...keyed(target.key)],
      ...common(target, completions(target), 30),
    ],
  },
  {
    name: 'ranges (-R)',
    boundS: KEEP_ALIVE_S + GRACE_S,
    share: 1,
    isHeld: false,
    words: (target) => ['-R', '-a', '5', '-b', '2000', ...common(target, `${target.url}/v1/models`, 20)],
  },
  {
    name: 'slow reading, short (-X)',
    // The system takes all of such an answer at once: to the gateway the connection is at rest.
    boundS: KEEP_ALIVE_S + GRACE_S,
    share: 1,
    isHeld: true,
    words: (target) => [...READING, ...keyed(target.key), ...common(target, `${target.url}/v1/models/mock/echo`, 90)],
  },
  {
    name: 'slow reading, long (-X)',
    // Only at its second look does the gateway see that nothing is being taken.
    boundS: 2 * IDLE_S + GRACE_S,
    // More than the system keeps, so that each takes megabytes of it.
    share: 0.1,
    isHeld: true,
    words: (target) => [...READING, ...keyed(target.key), ...common(target, `${target.url}/v1/models`, 40)],
  },
];
