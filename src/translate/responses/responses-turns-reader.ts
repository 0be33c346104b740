/**
 * Reads the input of a responses request as turns. The calls of a turn and their outputs are grouped, as other dialects require.
 */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { kindOf } from '../../wire/media/kind.ts';
import type { Findings } from '../findings.ts';
import { expectMessage } from '../message-fields.ts';
import type { Part, Turn, Written } from '../request.ts';
import type { ToolNames } from '../tool-names.ts';
import { type AssistantTurn, TurnList } from '../turn-list.ts';
import { ASSISTANT_PARTS, INPUT_PARTS, INSTRUCTION_PARTS, partsOf } from './responses-parts-reader.ts';
import { expectShape, shapeOf, shownType } from './shape.ts';
import { thinkingBlock } from './thinking.ts';

/** Returns the turns of `instructions` and `input`, in order. */
export function readTurns({ instructions, input }: Fields, names: ToolNames, findings: Findings): readonly Turn[] {
  const reader = new TurnReader(names, findings);
  if (instructions !== undefined && instructions !== null) {
    reader.list.add({
      kind: 'instructions',
      parts: partsOf(instructions, INSTRUCTION_PARTS, 'instructions', findings),
    });
  }
  if (Array.isArray(input)) for (const [index, item] of input.entries()) reader.read(item, `input[${index}]`);
  else reader.list.add({ kind: 'user', parts: partsOf(input, INPUT_PARTS, 'input', findings) });
  return reader.list.turns.map((turn) =>
    turn.kind === 'assistant' ? { ...turn, written: withoutLastReasoning(turn.written, findings) } : turn,
  );
}

/** Drops reasoning at the end of an interrupted turn, which hosts reject. */
function withoutLastReasoning(written: readonly Written[], findings: Findings): readonly Written[] {
  const end = written.findLastIndex(
    (each) => each.kind === 'call' || (each.kind === 'parts' && each.parts.some(isSaid)),
  );
  for (const each of written.slice(end + 1)) if (each.kind === 'reasoning') findings.ignore(each.field);
  return written.filter((each, index) => index <= end || each.kind !== 'reasoning');
}

function isSaid(part: Part): boolean {
  return !('text' in part) || part.text !== '';
}

const MESSAGE: ReadonlySet<string> = new Set(['type', 'id', 'role', 'content', 'status']);
const CALL = shapeOf('input', 'type id call_id name namespace arguments status caller async');
const CUSTOM_CALL = shapeOf('input', 'type id call_id name namespace input status caller async');
const OUTPUT = shapeOf('input', 'type id call_id name namespace output status caller');
const IMAGE = shapeOf(
  'input',
  'type id result status',
  'action background output_format quality size revised_prompt error',
);
const REASONING = shapeOf('input', 'type id summary content encrypted_content status');

class TurnReader {
  readonly list = new TurnList();
  readonly #names: ToolNames;
  readonly #findings: Findings;
  /** Turns by call id. */
  readonly #calls = new Map<string, AssistantTurn>();

  constructor(names: ToolNames, findings: Findings) {
    this.#names = names;
    this.#findings = findings;
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
        this.list.addWritten([
          {
            kind: 'reasoning',
            block: thinkingBlock(item.encrypted_content, item.summary),
            field: 'input.reasoning',
          },
        ]);
        return;
      case 'image_generation_call':
        return this.#readImage(item, where);
      case 'additional_tools':
        // Read together with the tools.
        return;
      default:
        this.#findings.refuse(where, `an item of the type ${shownType(item)} ${ONLY_ITS_HOST}`);
    }
  }

  #readMessage(item: Fields, where: string): void {
    expectMessage(MESSAGE, item, { scope: 'input', where }, this.#findings);
    const { role, content } = item;
    const read = (types: readonly string[]) => partsOf(content, types, `${where}.content`, this.#findings);
    if (role === 'assistant') this.list.addWritten([{ kind: 'parts', parts: read(ASSISTANT_PARTS) }]);
    else if (role === 'user') this.list.add({ kind: 'user', parts: read(INPUT_PARTS) });
    else if (role === 'system' || role === 'developer') {
      this.list.add({ kind: 'instructions', parts: read(INSTRUCTION_PARTS) });
    } else this.#findings.refuse(`${where}.role`, 'expected user, assistant, system or developer');
  }

  #readCall(item: Fields, where: string): void {
    const isCustom = item.type === 'custom_tool_call';
    expectShape(isCustom ? CUSTOM_CALL : CALL, item, where, this.#findings);
    const id = this.#findings.text(item.call_id, `${where}.call_id`);
    const name = this.#findings.text(item.name, `${where}.name`);
    const namespace = typeof item.namespace === 'string' ? item.namespace : undefined;
    const hostName = this.#names.hostName(name, namespace);
    const input = isCustom
      ? { text: this.#findings.text(item.input, `${where}.input`) }
      : { json: this.#findings.text(item.arguments, `${where}.arguments`) };
    this.#calls.set(id, this.list.addWritten([{ kind: 'call', id, hostName, input }]));
  }

  /** Reads an output image. Without data, only the host that made it has the image. */
  #readImage(item: Fields, where: string): void {
    expectShape(IMAGE, item, where, this.#findings);
    const field = `${where}.result`;
    const data = this.#findings.text(item.result, field);
    const url = { value: `data:${imageTypeOfData(data)};base64,${data}`, field };
    const part = { kind: 'image', url, detail: { value: undefined, field } } as const;
    this.list.addWritten([{ kind: 'parts', parts: [part] }]);
  }

  #readOutput(item: Fields, where: string): void {
    expectShape(OUTPUT, item, where, this.#findings);
    const callId = this.#findings.text(item.call_id, `${where}.call_id`);
    const parts = partsOf(item.output, INPUT_PARTS, `${where}.output`, this.#findings);
    // Parts within an output cannot be marked.
    const content = parts.map((part) => ({ ...part, cache: undefined }));
    const cache = parts.find((part) => part.cache !== undefined)?.cache;
    this.list.addOutput({ callId, content, cache }, this.#calls.get(callId));
  }
}

/** Detects the media type of a base64 image. */
function imageTypeOfData(base64: string): string {
  const kind = kindOf(Buffer.from(base64.slice(0, SIGNATURE_BASE64), 'base64'));
  return kind === 'jpeg' || kind === 'gif' || kind === 'webp' ? `image/${kind}` : 'image/png';
}

/** Enough for the signature of any format. */
const SIGNATURE_BASE64 = 64;

const ONLY_ITS_HOST = 'belongs to the host that made it; leave it out, or say it in a message';
