/** What a session of the dashboard is given from outside. */

export interface SessionOptions {
  /** Changes nothing, in the state or in a gateway. */
  readonly isReadOnly?: boolean;
  /** The `--config` of the command, for the command lines that are shown. */
  readonly configOption?: string | undefined;
}

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  /** Copies a text to the clipboard of the terminal. */
  copy(text: string): void;
}
