/** The slowhttptest attacks, and how long the gateway may tolerate each connection. */

/** The timeouts of the attacked gateway, in seconds. */
export const REQUEST_S = 5;
export const IDLE_S = 5;
/** Allows for checks half a second apart, and for a busy machine. */
const GRACE_S = 3;
const KEEP_ALIVE_S = 76;

export interface Target {
  readonly url: string;
  readonly key: string;
  readonly connections: number;
}

export interface Attack {
  readonly name: string;
  /** The longest that a connection may live, in seconds. */
  readonly boundS: number;
  /** The share of the run's connections. */
  readonly share: number;
  /**
   * Other attacks get a response at once, and their connections close before most of them are seen.
   */
  readonly isHeld: boolean;
  options(target: Target): readonly string[];
}

/** slowhttptest has no option for other headers, but accepts a cookie verbatim. */
const keyed = (key: string) => ['-j', `a=b\r\nAuthorization: Bearer ${key}`];
/** Data is sent every second, and the attacker never disconnects before the gateway does. */
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
    options: (target) => ['-H', '-x', '8', ...common(target, completions(target), 30)],
  },
  {
    name: 'slow bodies (-B)',
    boundS: REQUEST_S + GRACE_S,
    share: 1,
    isHeld: false,
    options: (target) => ['-B', '-x', '8', '-s', '65536', ...common(target, completions(target), 30)],
  },
  {
    name: 'slow bodies with a key (-B)',
    boundS: REQUEST_S + GRACE_S,
    share: 1,
    isHeld: true,
    options: (target) => [
      ...['-B', '-x', '8', '-s', '65536', ...keyed(target.key)],
      ...common(target, completions(target), 30),
    ],
  },
  {
    name: 'ranges (-R)',
    boundS: KEEP_ALIVE_S + GRACE_S,
    share: 1,
    isHeld: false,
    options: (target) => ['-R', '-a', '5', '-b', '2000', ...common(target, `${target.url}/v1/models`, 20)],
  },
  {
    name: 'slow reading, short (-X)',
    // The system buffers such a response completely, so to the gateway the connection is idle.
    boundS: KEEP_ALIVE_S + GRACE_S,
    share: 1,
    isHeld: true,
    options: (target) => [...READING, ...keyed(target.key), ...common(target, `${target.url}/v1/models/mock/echo`, 90)],
  },
  {
    name: 'slow reading, long (-X)',
    // Only at its second check does the gateway see that nothing is being read.
    boundS: 2 * IDLE_S + GRACE_S,
    // More than the system buffers, so that each reads megabytes of it.
    share: 0.1,
    isHeld: true,
    options: (target) => [...READING, ...keyed(target.key), ...common(target, `${target.url}/v1/models`, 40)],
  },
];
