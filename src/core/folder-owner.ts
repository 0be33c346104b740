/**
 * Root's work in the folder of another user is done as that user: whoever owns a folder can put links into it, and by them
 * root would make, change or give away files elsewhere.
 */
import { accessSync, constants, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { UserError } from './errors.ts';
import { PROGRAM } from './program.ts';

/** As many as Linux follows. */
const MAX_LINKS = 40;
/** The group of a user whom the system does not know. */
const NO_GROUP = 65_534;

/** What changes the user of a process. Threads have none of it, but change with their process. */
export interface UserOfProcess {
  getuid?(): number;
  seteuid?(uid: number): void;
  setuid?(uid: number): void;
  setgid?(gid: number): void;
  setgroups?(groups: readonly number[]): void;
  initgroups?(user: string, gid: number): void;
}

/**
 * For good, since what the files say is not to be trusted by root either. Nothing happens unless this is root and the way to
 * the file is in the hands of another user. Throws a UserError if it cannot be worked on as that user.
 */
export function becomeOwner(path: string, user: UserOfProcess = process): void {
  const owner = foreignOwner(path, user);
  if (owner === undefined) return;
  try {
    becomeUser(owner, user);
  } catch (error) {
    throw refused(path, owner, `this process may not do that itself (${(error as NodeJS.ErrnoException).code})`);
  }
  const barrier = folderOutOfReach(path);
  if (barrier === undefined) return;
  throw refused(
    path,
    owner,
    `that user may not enter ${barrier}; a unit with DynamicUser=yes needs a User= without it`,
  );
}

/** The user in whose folder root would work; undefined if this is not root. Throws a UserError if there are several. */
function foreignOwner(path: string, { getuid }: UserOfProcess = process): number | undefined {
  if (getuid?.() !== 0) return undefined;
  const [owner, other] = usersOnTheWay(path).filter((uid) => uid !== 0 && isInMap(uid, uidMap()));
  if (owner === undefined || other === undefined) return owner;
  throw refused(path, other, `user ${owner} can change what it leads to as well`);
}

/** For what is not to go on as another user. Throws a UserError where `becomeOwner` would become one. */
export function refuseForeign(path: string, user?: UserOfProcess): void {
  const owner = foreignOwner(path, user);
  if (owner !== undefined) throw refused(path, owner, 'a command that is started would be, too');
}

function refused(path: string, owner: number, why: string): UserError {
  return new UserError(
    `user ${owner} decides what is in the folder of ${path}; there root works as that user only, and ${why}; ` +
      `type: sudo -u '#${owner}' ${[PROGRAM, ...process.argv.slice(2)].join(' ')}`,
  );
}

/** Who owns the folders and links that lead to a file, in the order of the way; the file itself does not count. */
export function usersOnTheWay(path: string): number[] {
  const users = new Set<number>();
  let at: string = sep;
  let links = 0;
  const rest = resolve(path).split(sep);
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name);
    const stats = lstatSync(next, { throwIfNoEntry: false });
    const isLink = stats?.isSymbolicLink() === true;
    // It ends with the file, or with what is in the place of a folder.
    if (stats === undefined || !(isLink || stats.isDirectory())) break;
    users.add(stats.uid);
    if (!isLink) {
      at = next;
      continue;
    }
    links += 1;
    // Whoever opens the file says what is wrong with it.
    if (links > MAX_LINKS) break;
    const target = readlinkSync(next);
    rest.unshift(...target.split(sep));
    if (isAbsolute(target)) at = sep;
  }
  return [...users];
}

/**
 * Whether a user exists in the namespace whose map this is. In a container, owners from outside appear as `nobody`: root there
 * cannot become them, and they decide about all of it anyway. `map`: of /proc/self/uid_map; empty where there is none.
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

/** Undefined for a user whom only files know, as in a container. */
function accountOf(uid: number, user: UserOfProcess): { readonly username: string; readonly gid: number } | undefined {
  user.seteuid?.(uid);
  try {
    // Of the effective user.
    return userInfo();
  } catch {
    return undefined;
  } finally {
    user.seteuid?.(0);
  }
}

/** The uppermost folder on the way to a file that this process cannot search. */
function folderOutOfReach(path: string): string | undefined {
  const folder = dirname(path);
  const above = folder === path ? undefined : folderOutOfReach(folder);
  if (above !== undefined || folder === path) return above;
  try {
    accessSync(folder, constants.X_OK);
    return undefined;
  } catch (error) {
    // What is missing can be made.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? folder : undefined;
  }
}
