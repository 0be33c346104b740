/** Writes the events of a responses stream, in order. */
import type { Fields } from '../../dialects/dialect.ts';

export type Emit = (type: string, fields: Fields) => void;

export class EventLog {
  #nextNumber = 0;
  #text = '';

  readonly emit: Emit = (type, fields) => {
    const data = JSON.stringify({ type, sequence_number: this.#nextNumber++, ...fields });
    this.#text += `event: ${type}\ndata: ${data}\n\n`;
  };

  /** What was written since the last time. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
