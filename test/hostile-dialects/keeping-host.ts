/** A host of responses that keeps them, as OpenAI does: whoever has its key can refer to any, and it bills what comes in. */
import { randomBytes } from 'node:crypto';
import type { Fields } from '../../src/dialects/dialect.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';

interface Kept {
  readonly response: Fields;
  /** All that it has read and written. */
  readonly tokens: number;
}

/** What an item brings in: of a model's text no more than was written, of others all that they have found. */
interface KeptItem {
  readonly response: string;
  readonly tokens: number;
}

export interface Bill {
  readonly input: number;
  readonly output: number;
}

export class KeepingHost {
  readonly #kept = new Map<string, Kept>();
  readonly #items = new Map<string, KeptItem>();
  /** What was billed, in order. */
  readonly bills: Bill[] = [];
  /** The output tokens of each answer. */
  outputTokens = 50;
  /** The answers report no usage. */
  isSilent = false;

  readonly follow = (call: UpstreamCall): void => {
    const id = /\/responses\/([^/?]+)$/.exec(call.path)?.[1];
    if (id === undefined) this.#create(call);
    else if (!this.#kept.has(id)) call.answer(404, { error: { message: `Response with id '${id}' not found.` } });
    else if (call.method === 'DELETE') {
      this.#kept.delete(id);
      call.answer(200, { id, object: 'response.deleted', deleted: true });
    } else call.answer(200, this.#kept.get(id)?.response);
  };

  /** As if 30 days had passed. */
  forgetAll(): void {
    this.#kept.clear();
    this.#items.clear();
  }

  #create(call: UpstreamCall): void {
    const body = JSON.parse(call.body) as Fields;
    const input = this.#inputOf(body);
    if (typeof input === 'string')
      return call.answer(400, { error: { message: input, type: 'invalid_request_error' } });
    const response = this.#answer(body, input);
    this.bills.push({ input, output: this.outputTokens });
    if (body.stream !== true) return call.answer(200, response);
    call.stream();
    for (const event of eventsOf(response)) call.send(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    call.end();
  }

  /** The tokens of its input, or what it does not have. */
  #inputOf({ previous_response_id: previous, input, instructions }: Fields): number | string {
    const kept = this.#kept.get(String(previous ?? ''));
    if (typeof previous === 'string' && kept === undefined) return `Previous response with id '${previous}' not found.`;
    let tokens = (kept?.tokens ?? 0) + wordsIn(instructions);
    for (const item of Array.isArray(input) ? input : [input]) {
      const isName = item?.type === 'item_reference' || (item?.type === 'reasoning' && !item.encrypted_content);
      if (!isName) tokens += wordsIn(item);
      else if (!this.#items.has(item.id)) return `Item with id '${item.id}' not found.`;
      else tokens += this.#items.get(item.id)?.tokens ?? 0;
    }
    return tokens;
  }

  #answer(body: Fields, input: number): Fields {
    const isKept = body.store !== false;
    const output_tokens = this.outputTokens;
    const id = newId('resp');
    const output = [{ id: newId('rs'), type: 'reasoning', summary: [] }, message('Words. '.repeat(3).trim())];
    const usage = {
      ...{ input_tokens: input, input_tokens_details: { cached_tokens: 0 } },
      ...{ output_tokens, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: input + output_tokens },
    };
    const response = {
      ...{
        id,
        object: 'response',
        created_at: 1_700_000_000,
        status: 'completed',
        error: null,
        incomplete_details: null,
      },
      ...{ instructions: null, model: body.model, output, parallel_tool_calls: true, tool_choice: 'auto', tools: [] },
      ...{ store: isKept, metadata: {}, previous_response_id: body.previous_response_id ?? null },
      ...(!this.isSilent && { usage }),
    };
    if (isKept) {
      this.#kept.set(id, { response, tokens: input + output_tokens });
      for (const item of output) this.#items.set(item.id, { response: id, tokens: Math.floor(output_tokens / 2) });
    }
    return response;
  }
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(24).toString('hex')}`;
}

function message(text: string) {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { id: newId('msg'), type: 'message', status: 'completed', role: 'assistant', content };
}

function wordsIn(value: unknown): number {
  return JSON.stringify(value ?? '').match(/[a-z]+/gi)?.length ?? 0;
}

function* eventsOf(response: Fields): Generator<Fields> {
  let sequence_number = 0;
  const open = { ...response, status: 'in_progress', output: [], usage: null };
  yield { type: 'response.created', sequence_number: sequence_number++, response: open };
  for (const [output_index, item] of (response.output as Fields[]).entries()) {
    const at = { output_index, item_id: item.id };
    const [part] = (item.content ?? []) as Fields[];
    yield {
      type: 'response.output_item.added',
      sequence_number: sequence_number++,
      output_index,
      item: { ...item, content: [] },
    };
    if (part !== undefined) {
      const where = { ...at, content_index: 0 };
      yield {
        type: 'response.content_part.added',
        sequence_number: sequence_number++,
        ...where,
        part: { ...part, text: '' },
      };
      yield { type: 'response.output_text.delta', sequence_number: sequence_number++, ...where, delta: part.text };
      yield { type: 'response.output_text.done', sequence_number: sequence_number++, ...where, text: part.text };
      yield { type: 'response.content_part.done', sequence_number: sequence_number++, ...where, part };
    }
    yield { type: 'response.output_item.done', sequence_number: sequence_number++, output_index, item };
  }
  yield { type: 'response.completed', sequence_number, response };
}
