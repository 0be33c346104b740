/** Maps call ids to ids that a host accepts: ids from other hosts may contain invalid characters. */

export class CallIds {
  readonly #hostIds = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** Next suffix per colliding id. */
  readonly #nextNumbers = new Map<string, number>();

  /** Returns the host's id for a client's id. Suffixes only increase, so the search is linear in the number of calls. */
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
