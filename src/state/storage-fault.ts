/** Why the state cannot be written or read at the moment, as the ledger needs to know it. */
export interface StorageFault {
  /** Names the file and says what to do. */
  readonly message: string;
  /**
   * `busy`: another connection holds the lock. `damage`: does not pass by itself. Anything else may
   * pass.
   */
  readonly kind: 'busy' | 'damage' | 'other';
}
