/**
 * Reads the input of a responses request as turns: the calls of one turn stand together with their
 * outputs, as other dialects want them.
 */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import type { ToolNames } from '../tool-names.ts';
import { ASSISTANT_PARTS, INPUT_PARTS, INSTRUCTION_PARTS, type Part, partsOf } from './parts.ts';
import { expectShape, shapeOf, shownType } from './shape.ts';

/** A call of a tool, as a function. */
export interface Call {
  readonly kind: 'call';
  readonly id: string;
  readonly hostName: string;
  /** JSON, as the model wrote it, or a custom tool's text. */
  readonly input: { readonly json: string } | { readonly text: string };
}

/** What a model has written. */
export type Written =
  | { readonly kind: 'parts'; readonly parts: readonly Part[] }
  | { readonly kind: 'reasoning'; readonly encrypted: unknown }
  | Call;

/** The output of a tool. */
export interface Output {
  readonly callId: string;
  readonly parts: readonly Part[];
}

export type Turn =
  | { readonly kind: 'instructions'; readonly parts: readonly Part[] }
  | { readonly kind: 'user'; readonly parts: readonly Part[] }
  /** Outputs without a call are a turn in which nothing is written. */
  | { readonly kind: 'assistant'; readonly written: readonly Written[]; readonly outputs: readonly Output[] };

/** The turns of `instructions` and `input`, in order. */
export function readTurns({ instructions, input }: Fields, names: ToolNames, findings: Findings): readonly Turn[] {
  const reader = new TurnReader(names, findings);
  if (instructions !== undefined && instructions !== null) {
    reader.add({ kind: 'instructions', parts: partsOf(instructions, INSTRUCTION_PARTS, 'instructions', findings) });
  }
  if (Array.isArray(input)) for (const [index, item] of input.entries()) reader.read(item, `input[${index}]`);
  else reader.add({ kind: 'user', parts: partsOf(input, INPUT_PARTS, 'input', findings) });
  return reader.turns;
}

const MESSAGE = shapeOf('input', 'type id role content status', 'phase');
const CALL = shapeOf('input', 'type id call_id name namespace arguments status caller async');
const CUSTOM_CALL = shapeOf('input', 'type id call_id name namespace input status caller async');
const OUTPUT = shapeOf('input', 'type id call_id name namespace output status caller');
const REASONING = shapeOf('input', 'type id summary content encrypted_content status');

interface AssistantTurn {
  readonly kind: 'assistant';
  readonly written: Written[];
  readonly outputs: Output[];
}

class TurnReader {
  readonly turns: Turn[] = [];
  readonly #names: ToolNames;
  readonly #findings: Findings;
  /** The turn that the model is writing, until something else follows. */
  #open: AssistantTurn | undefined;
  /** The turns with the calls of these ids. */
  readonly #calls = new Map<string, AssistantTurn>();

  constructor(names: ToolNames, findings: Findings) {
    this.#names = names;
    this.#findings = findings;
  }

  add(turn: Turn): void {
    this.#open = undefined;
    this.turns.push(turn);
  }

  read(item: unknown, where: string): void {
    if (!isObject(item)) return this.#findings.refuse(where, 'expected an object');
    switch (item.type ?? 'message') {
      case 'message':
        return this.#readMessage(item, where);
      case 'function_call':
      case 'custom_tool_call':
        return this.#readCall(item, where);
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.#readOutput(item, where);
      case 'reasoning':
        expectShape(REASONING, item, where, this.#findings);
        this.#turn().written.push({ kind: 'reasoning', encrypted: item.encrypted_content });
        return;
      case 'additional_tools':
        // Read with the tools.
        return;
      default:
        this.#findings.refuse(where, `an item of the type ${shownType(item)} ${ONLY_ITS_HOST}`);
    }
  }

  #readMessage(item: Fields, where: string): void {
    expectShape(MESSAGE, item, where, this.#findings);
    const { role, content } = item;
    const read = (types: readonly string[]) => partsOf(content, types, `${where}.content`, this.#findings);
    if (role === 'assistant') this.#turn().written.push({ kind: 'parts', parts: read(ASSISTANT_PARTS) });
    else if (role === 'user') this.add({ kind: 'user', parts: read(INPUT_PARTS) });
    else if (role === 'system' || role === 'developer') {
      this.add({ kind: 'instructions', parts: read(INSTRUCTION_PARTS) });
    } else this.#findings.refuse(`${where}.role`, 'expected user, assistant, system or developer');
  }

  #readCall(item: Fields, where: string): void {
    const isCustom = item.type === 'custom_tool_call';
    expectShape(isCustom ? CUSTOM_CALL : CALL, item, where, this.#findings);
    const id = this.#findings.text(item.call_id, `${where}.call_id`);
    const name = this.#findings.text(item.name, `${where}.name`);
    const namespace = typeof item.namespace === 'string' ? item.namespace : undefined;
    const turn = this.#turn();
    turn.written.push({
      kind: 'call',
      id,
      hostName: this.#names.hostName(name, namespace),
      input: isCustom
        ? { text: this.#findings.text(item.input, `${where}.input`) }
        : { json: this.#findings.text(item.arguments, `${where}.arguments`) },
    });
    this.#calls.set(id, turn);
  }

  #readOutput(item: Fields, where: string): void {
    expectShape(OUTPUT, item, where, this.#findings);
    const callId = this.#findings.text(item.call_id, `${where}.call_id`);
    const output = { callId, parts: partsOf(item.output, INPUT_PARTS, `${where}.output`, this.#findings) };
    const turn = this.#calls.get(callId);
    if (turn === undefined) this.add({ kind: 'assistant', written: [], outputs: [output] });
    else turn.outputs.push(output);
  }

  /** The turn to which what the model writes belongs. With the outputs of its calls it is over. */
  #turn(): AssistantTurn {
    if (this.#open === undefined || this.#open.outputs.length > 0) {
      const turn: AssistantTurn = { kind: 'assistant', written: [], outputs: [] };
      this.add(turn);
      this.#open = turn;
    }
    return this.#open;
  }
}

const ONLY_ITS_HOST = 'belongs to the host that made it; leave it out, or say it in a message';
