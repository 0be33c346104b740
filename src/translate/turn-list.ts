/** Orders turns so that the calls of a turn and their outputs are together, as hosts require. */
import type { Output, Turn, Written } from './request.ts';

export interface AssistantTurn {
  readonly kind: 'assistant';
  readonly written: Written[];
  readonly outputs: Output[];
}

export class TurnList {
  readonly turns: Turn[] = [];
  /** The assistant turn in progress. */
  #open: AssistantTurn | undefined;

  get open(): AssistantTurn | undefined {
    return this.#open;
  }

  add(turn: Turn): void {
    this.#open = undefined;
    this.turns.push(turn);
  }

  /** Adds assistant output and returns its turn. A turn with tool outputs is complete, so further output starts a new one. */
  addWritten(written: readonly Written[]): AssistantTurn {
    if (this.#open === undefined || this.#open.outputs.length > 0) {
      const turn: AssistantTurn = { kind: 'assistant', written: [], outputs: [] };
      this.add(turn);
      this.#open = turn;
    }
    for (const each of written) this.#open.written.push(each);
    return this.#open;
  }

  /** `turn`: the turn of the call, if known. */
  addOutput(output: Output, turn: AssistantTurn | undefined): void {
    if (turn === undefined) this.add({ kind: 'assistant', written: [], outputs: [output] });
    else turn.outputs.push(output);
  }
}
