/** The certificate of a running gateway. It is reread with each reload, and when its files change. */
import { type Certificate, readCertificate, SOON_MS, validityOf, versionOf } from '../config/certificate.ts';
import type { TlsFiles } from '../config/config.ts';
import { DAY_MS } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { CertificatePair } from '../core/settings.ts';
import type { Log } from '../observe/log.ts';

/** Polling interval of the files' modification times, in milliseconds. File watchers miss changes behind links and mounts. */
const LOOK_MS = 1_000;

export class ServedCertificate {
  readonly #log: Log;
  #files: TlsFiles;
  #current: Certificate;
  /** Versions of the files at the last read, and at the last poll. */
  #read: string;
  #seen: string;
  #timer: NodeJS.Timeout | undefined;
  #remindAtMs = 0;

  /** Throws a UserError for unusable files. */
  constructor(files: TlsFiles, log: Log) {
    this.#log = log;
    this.#files = files;
    this.#read = this.#seen = versionOf(files);
    this.#current = readCertificate(files, Date.now());
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Switches to other files. Throws a UserError without any change if they are unusable. */
  change(files: TlsFiles): CertificatePair {
    const version = versionOf(files);
    this.#current = readCertificate(files, Date.now());
    this.#files = files;
    this.#read = this.#seen = version;
    this.announce();
    return this.#current.pair;
  }

  /** Logs the date of expiry, and repeats it daily during the last two weeks. */
  announce(): void {
    const nowMs = Date.now();
    const { text, isShort } = validityOf(this.#current, nowMs);
    this.#remindAtMs = isShort ? nowMs + DAY_MS : this.#current.expiresAtMs - SOON_MS;
    const line = `the certificate in ${this.#files.cert} is ${text}`;
    if (isShort) this.#log.warn(`${line}: renew it`);
    else this.#log.info(line);
  }

  /** Calls `use` with each new certificate in the files. */
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
    // Waits for two equal polls: the two files may be written one after the other, and in pieces.
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
