/** A current fault of the storage, as reported to the ledger. */
export interface StorageFault {
  /** Names the file and the next step. */
  readonly message: string;
  /** `busy`: another connection holds the lock. `damage`: permanent. `other`: may be temporary. */
  readonly kind: 'busy' | 'damage' | 'other';
}
