/** What travels between a gateway thread and its tokenizer. */

/** Texts to be counted, under a number that the answer comes back with. */
export interface CountOrder {
  readonly order: number;
  readonly texts: readonly string[];
}

export interface CountResult {
  readonly order: number;
  /** Of all texts together. */
  readonly tokens: number;
}
