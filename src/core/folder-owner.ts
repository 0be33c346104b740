/**
 * Drops root before working in the folder of another user. The owner of a folder can put links into it, through which root would
 * create, change or give away files elsewhere.
 */
import { accessSync, constants, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { UserError } from './errors.ts';
import { PROGRAM } from './program.ts';

/** Maximum number of symbolic links in a path, as in Linux. */
const MAX_LINKS = 40;
/** Group of a user without an account. */
const NO_GROUP = 65_534;

/** The process functions that change its user. Threads lack them, but share the user of their process. */
export interface UserOfProcess {
  getuid?(): number;
  seteuid?(uid: number): void;
  setuid?(uid: number): void;
  setgid?(gid: number): void;
  setgroups?(groups: readonly number[]): void;
  initgroups?(user: string, gid: number): void;
}

/**
 * Switches to the owner of the path permanently, since root cannot trust the contents of the files either. Does nothing unless
 * this process is root and another user controls the path. Throws a UserError if the switch fails or the owner cannot reach the
 * file.
 */
export function becomeOwner(path: string, user: UserOfProcess = process): void {
  const owner = foreignOwner(path, user);
  if (owner === undefined) return;
  try {
    becomeUser(owner, user);
  } catch (error) {
    throw refused(path, owner, `this process may not switch to that user (${(error as NodeJS.ErrnoException).code})`);
  }
  const barrier = folderOutOfReach(path);
  if (barrier === undefined) return;
  throw refused(
    path,
    owner,
    `that user may not enter ${barrier}; a unit with DynamicUser=yes needs a User= without it`,
  );
}

/**
 * Returns the user who controls a path; undefined if that is root or this process is not root. Throws a UserError for several.
 */
function foreignOwner(path: string, { getuid }: UserOfProcess = process): number | undefined {
  if (getuid?.() !== 0) return undefined;
  const [owner, other] = usersOnTheWay(path).filter((uid) => uid !== 0 && isInMap(uid, uidMap()));
  if (owner === undefined || other === undefined) return owner;
  throw refused(path, other, `user ${owner} can change what it leads to as well`);
}

/** For commands that must not continue as another user. Throws a UserError where `becomeOwner` would switch users. */
export function refuseForeign(path: string, user?: UserOfProcess): void {
  const owner = foreignOwner(path, user);
  if (owner !== undefined) throw refused(path, owner, 'the command it starts would run as that user, too');
}

function refused(path: string, owner: number, why: string): UserError {
  return new UserError(
    `user ${owner} decides what is in the folder of ${path}; there root works as that user only, and ${why}; ` +
      `type: sudo -u '#${owner}' ${[PROGRAM, ...process.argv.slice(2)].join(' ')}`,
  );
}

/** Returns the owners of the folders and links that lead to a file, in path order, without the owner of the file. */
export function usersOnTheWay(path: string): number[] {
  const users = new Set<number>();
  let at: string = sep;
  let links = 0;
  const rest = resolve(path).split(sep);
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name);
    const stats = lstatSync(next, { throwIfNoEntry: false });
    const isLink = stats?.isSymbolicLink() === true;
    // Stop at the file, or at a non-directory in the middle of the path.
    if (stats === undefined || !(isLink || stats.isDirectory())) break;
    users.add(stats.uid);
    if (!isLink) {
      at = next;
      continue;
    }
    links += 1;
    // Opening the file will report ELOOP.
    if (links > MAX_LINKS) break;
    const target = readlinkSync(next);
    rest.unshift(...target.split(sep));
    if (isAbsolute(target)) at = sep;
  }
  return [...users];
}

/**
 * Reports whether a user exists in the user namespace of `map`, the contents of /proc/self/uid_map; empty without one. In a
 * container, owners from outside appear as `nobody`. Root in the container cannot become such a user, who controls the whole
 * container anyway.
 */
export function isInMap(uid: number, map: string): boolean {
  if (map === '') return true;
  return map.split('\n').some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
    return uid >= first && uid < first + count;
  });
}

function uidMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch {
    return '';
  }
}

function becomeUser(uid: number, user: UserOfProcess): void {
  const known = accountOf(uid, user);
  user.setgid?.(known?.gid ?? NO_GROUP);
  if (known === undefined) user.setgroups?.([]);
  else user.initgroups?.(known.username, known.gid);
  user.setuid?.(uid);
}

/** Returns the account of a user; undefined for an id without an account, as in a container. */
function accountOf(uid: number, user: UserOfProcess): { readonly username: string; readonly gid: number } | undefined {
  user.seteuid?.(uid);
  try {
    // `userInfo` looks up the effective user.
    return userInfo();
  } catch {
    return undefined;
  } finally {
    user.seteuid?.(0);
  }
}

/** Returns the uppermost folder of the path that this process cannot search. */
function folderOutOfReach(path: string): string | undefined {
  const folder = dirname(path);
  const above = folder === path ? undefined : folderOutOfReach(folder);
  if (above !== undefined || folder === path) return above;
  try {
    accessSync(folder, constants.X_OK);
    return undefined;
  } catch (error) {
    // A missing folder can be created.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? folder : undefined;
  }
}
