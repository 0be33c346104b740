/** The ids of calls at a host. Those that other hosts have made may have characters that this one refuses. */

export class CallIds {
  readonly #hostIds = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** The next number for ids that would be the same. */
  readonly #nextNumbers = new Map<string, number>();

  /** One for each id of the client. No number is tried twice, however many would be the same. */
  hostId(callId: string): string {
    const known = this.#hostIds.get(callId);
    if (known !== undefined) return known;
    const plain = callId.replace(/[^A-Za-z0-9_-]/g, '_');
    let id = plain;
    let number = this.#nextNumbers.get(plain) ?? 2;
    while (this.#taken.has(id)) id = `${plain}_${number++}`;
    this.#nextNumbers.set(plain, number);
    this.#taken.add(id);
    this.#hostIds.set(callId, id);
    return id;
  }
}
