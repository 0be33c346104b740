/** Puts turns in order: the calls of one turn stand together with their outputs, as hosts want them. */
import type { Output, Turn, Written } from './request.ts';

export interface AssistantTurn {
  readonly kind: 'assistant';
  readonly written: Written[];
  readonly outputs: Output[];
}

export class TurnList {
  readonly turns: Turn[] = [];
  /** The turn that the model is writing, until something else follows. */
  #open: AssistantTurn | undefined;

  get open(): AssistantTurn | undefined {
    return this.#open;
  }

  add(turn: Turn): void {
    this.#open = undefined;
    this.turns.push(turn);
  }

  /** Adds what a model has written. With the outputs of its calls a turn is over. Returns the turn. */
  addWritten(written: readonly Written[]): AssistantTurn {
    if (this.#open === undefined || this.#open.outputs.length > 0) {
      const turn: AssistantTurn = { kind: 'assistant', written: [], outputs: [] };
      this.add(turn);
      this.#open = turn;
    }
    for (const each of written) this.#open.written.push(each);
    return this.#open;
  }

  /** `turn`: that of the call, if it is known. */
  addOutput(output: Output, turn: AssistantTurn | undefined): void {
    if (turn === undefined) this.add({ kind: 'assistant', written: [], outputs: [output] });
    else turn.outputs.push(output);
  }
}
