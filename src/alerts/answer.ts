/** What came of an attempt to deliver an event. */
export interface Answer {
  readonly isDelivered: boolean;
  /** For operators, in a few words, and with nothing that is secret. */
  readonly text: string;
}
