/** The certificate of a running gateway: read at the start, with each reload, and whenever its files change. */
import { type Certificate, readCertificate, SOON_MS, validityOf, versionOf } from '../config/certificate.ts';
import type { TlsFiles } from '../config/config.ts';
import { DAY_MS } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { CertificatePair } from '../core/settings.ts';
import type { Log } from '../observe/log.ts';

/** How often the files are looked at, in milliseconds. By their times: notices of changes miss links and mounts. */
const LOOK_MS = 1_000;

export class ServedCertificate {
  readonly #log: Log;
  #files: TlsFiles;
  #current: Certificate;
  /** Of the files, when they were last read, and when they were last looked at. */
  #read: string;
  #seen: string;
  #timer: NodeJS.Timeout | undefined;
  #remindAtMs = 0;

  /** Throws a UserError if the files cannot serve. */
  constructor(files: TlsFiles, log: Log) {
    this.#log = log;
    this.#files = files;
    this.#read = this.#seen = versionOf(files);
    this.#current = readCertificate(files, Date.now());
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Reads these files instead, from now on. Throws a UserError, and changes nothing, if they cannot serve. */
  change(files: TlsFiles): CertificatePair {
    const version = versionOf(files);
    this.#current = readCertificate(files, Date.now());
    this.#files = files;
    this.#read = this.#seen = version;
    this.announce();
    return this.#current.pair;
  }

  /** Says until when it is valid; from two weeks before, every day. */
  announce(): void {
    const nowMs = Date.now();
    const { text, isShort } = validityOf(this.#current, nowMs);
    this.#remindAtMs = isShort ? nowMs + DAY_MS : this.#current.expiresAtMs - SOON_MS;
    const line = `the certificate in ${this.#files.cert} is ${text}`;
    if (isShort) this.#log.warn(`${line}: renew it`);
    else this.#log.info(line);
  }

  /** Calls back with each next certificate that the files have. */
  watch(use: (pair: CertificatePair) => void): void {
    this.#timer = setInterval(() => this.#look(use), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(use: (pair: CertificatePair) => void): void {
    if (Date.now() >= this.#remindAtMs) this.announce();
    const version = versionOf(this.#files);
    const isSettled = version === this.#seen;
    this.#seen = version;
    // One of the two may be written before the other, and a file bit by bit.
    if (!isSettled || version === this.#read) return;
    this.#read = version;
    try {
      use(this.change(this.#files));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.#log.error(`the changed certificate is not used, and the earlier one stays: ${error.message}`);
    }
  }
}
