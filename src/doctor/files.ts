/** Checks permissions of config, certificate and state file, and the free disk space. */
import { accessSync, constants, existsSync, readFileSync, type Stats, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readCertificate, validityOf } from '../config/certificate.ts';
import type { Config, TlsFiles } from '../config/config.ts';
import { OTHERS, OTHERS_WRITE, othersReplace, ownUid, resolveLinks } from '../core/files.ts';
import { program } from '../core/program.ts';
import { bytes } from '../operator/format.ts';
import { type Finding, failure, ok, refused, warning } from './finding.ts';

const OTHERS_READ = 0o044;
/** Group members are accepted as readers. */
const ALL_READ = 0o004;
/** Maximum size of SQLite's WAL before a checkpoint. With less free space admissions soon fail. */
const LEAST_FREE_BYTES = 16 * 1024 * 1024;
/** Space for about three million requests. */
const LOW_FREE_BYTES = 1024 * 1024 * 1024;

export function checkConfigFile({ path, providers }: Config): Finding {
  const name = 'config file';
  if (path === undefined) {
    return warning(
      name,
      'there is none: the defaults apply, with the mock provider alone',
      `name one with --config, or write one with \`${program()} init\``,
    );
  }
  const { mode } = statSync(path);
  if ((mode & OTHERS_WRITE) !== 0) {
    return warning(name, `other users can change ${path}`, `chmod go-w ${path}`);
  }
  const text = readFileSync(path, 'utf8');
  const keys = providers.flatMap((provider) =>
    provider.kind === 'mock' ? [] : provider.upstreams.map(({ apiKey }) => apiKey),
  );
  const hasKey = keys.some((key) => key !== undefined && key !== '' && text.includes(key));
  if (hasKey && (mode & OTHERS_READ) !== 0) {
    return warning(
      name,
      `other users can read ${path}, which has a provider's key in it`,
      `chmod 600 ${path}, or name a variable in the config instead`,
    );
  }
  return ok(name, `${path} is valid`);
}

/** Checks the certificate of the listener. */
export function checkCertificate(files: TlsFiles): Finding {
  const name = 'tls';
  try {
    const certificate = readCertificate(files, Date.now());
    if ((statSync(files.key).mode & ALL_READ) !== 0) {
      return warning(name, `every user can read the key ${files.key}`, `chmod o= ${files.key}`);
    }
    const { text, isShort } = validityOf(certificate, Date.now());
    const line = `${files.cert}, for ${certificate.names.join(', ')}, ${text}`;
    return isShort ? warning(name, line, 'renew it; the gateway takes the new one by itself') : ok(name, line);
  } catch (error) {
    return refused(name, error);
  }
}

/** Checks the state file, or the folder for a future one. */
export function checkStateFile(path: string): Finding[] {
  const file = resolveLinks(path);
  const folder = dirname(file);
  const name = 'state file';
  if (!existsSync(file)) {
    const place = nearestFolder(folder);
    if (!canAccess(place, constants.W_OK | constants.X_OK)) return [noFolder(place)];
    return [ok(name, `${path} does not exist yet; the first start creates it`), ...checkFolder(place)];
  }
  const stats = statSync(file);
  if (!stats.isFile()) return [failure(name, `${path} is not a file`, 'set `state:` in the config to another path')];
  if (!canAccess(folder, constants.W_OK | constants.X_OK)) return [noFolder(folder)];
  return [checkOwner(path, stats), ...checkFolder(folder)];
}

function checkOwner(path: string, { mode, uid }: Stats): Finding {
  const name = 'state file';
  if (!canAccess(path, constants.R_OK | constants.W_OK)) {
    return failure(
      name,
      `this user may not read and write ${path}`,
      'run this and the gateway as its owner, or change its owner with chown',
    );
  }
  if ((mode & OTHERS) === 0) return ok(name, `${path}, closed to other users`);
  if (ownUid() === 0 || ownUid() === uid) {
    return warning(name, `other users can use ${path}; the next start closes it to them`, `chmod 600 ${path}`);
  }
  return failure(
    name,
    `other users can use ${path}, and only its owner can close it`,
    `run chmod 600 ${path} as its owner`,
  );
}

function checkFolder(folder: string): Finding[] {
  const { mode } = statSync(folder);
  if (!othersReplace(mode)) return [];
  return [warning('state folder', `other users can replace files in ${folder}`, `chmod go-w ${folder}`)];
}

function noFolder(folder: string): Finding {
  return failure(
    'state folder',
    `this user may not create files in ${folder}, as SQLite has to`,
    'change its owner with chown, or set `state:` in the config to another folder',
  );
}

export function checkSpace(path: string): Finding {
  const name = 'disk';
  const folder = nearestFolder(dirname(resolveLinks(path)));
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const message = `${bytes(free)} free in ${folder}`;
  const fix = 'free some space, or let `journal_retention` drop old requests';
  if (free < LEAST_FREE_BYTES) return failure(name, message, fix);
  return free < LOW_FREE_BYTES ? warning(name, message, fix) : ok(name, message);
}

/** Returns the folder or its nearest existing parent. */
function nearestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

function canAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
