/** Reads contents as turns. */
import { isObject, objectOf } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { listOf } from '../../dialects/gemini/gemini-fields.ts';
import { type Findings, UNTRANSLATABLE } from '../findings.ts';
import type { Call, Output, Part, Turn, Written } from '../request.ts';
import { blocksInSignature } from '../thought-signature.ts';
import { TurnList } from '../turn-list.ts';

export function readTurns(fields: Fields, findings: Findings): readonly Turn[] {
  const reader = new ContentsReader(findings);
  const instructions = listOf(fields.systemInstruction).flatMap((content) =>
    partsIn(content, 'systemInstruction').map(([part, where]) => reader.text(part, where)),
  );
  for (const [index, content] of listOf(fields.contents).entries()) reader.add(content, `contents[${index}]`);
  const said = instructions.filter((part) => part !== undefined);
  const { turns } = reader.list;
  return said.length === 0 ? turns : [{ kind: 'instructions', parts: said }, ...turns];
}

type Located = readonly [part: Fields, where: string];

function partsIn(content: unknown, where: string): readonly Located[] {
  const parts = isObject(content) ? listOf(content.parts) : [];
  return parts.map((part, index) => [objectOf(part), `${where}.parts[${index}]`]);
}

/** Notes and hints without content. */
const IGNORED: readonly string[] = ['mediaResolution', 'partMetadata'];

class ContentsReader {
  readonly list = new TurnList();
  readonly #findings: Findings;
  /** Calls without a response. */
  readonly #open: { readonly id: string; readonly name: string }[] = [];
  #calls = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  add(content: unknown, where: string): void {
    const parts = partsIn(content, where);
    if (isObject(content) && content.role === 'model') {
      this.list.addWritten(parts.flatMap(([part, at]) => this.#written(part, at)));
      return;
    }
    const said: Part[] = [];
    for (const [part, at] of parts) {
      if (isObject(part.functionResponse)) this.list.addOutput(this.#output(part, at), this.list.open);
      else said.push(...this.#sourced(part, at));
    }
    const hasResponses = parts.some(([part]) => isObject(part.functionResponse));
    if (said.length > 0 || !hasResponses) this.list.add({ kind: 'user', parts: said });
  }

  /** Reads a part that must be text. */
  text(part: Fields, where: string): Part | undefined {
    this.#expect(part, ['text'], where);
    return typeof part.text === 'string' ? { kind: 'text', text: part.text } : undefined;
  }

  #sourced(part: Fields, where: string): readonly Part[] {
    if (part.inlineData !== undefined) return this.#inline(part, where);
    if (part.fileData !== undefined) return this.#file(part, where);
    const text = this.text(part, where);
    return text === undefined ? [] : [text];
  }

  #inline(part: Fields, where: string): readonly Part[] {
    this.#expect(part, ['inlineData'], where);
    const at = `${where}.inlineData`;
    const inline = this.#findings.object(part.inlineData, at) ?? {};
    const { mimeType, data, displayName } = inline;
    this.#findings.expectOnly(new Set(['mimeType', 'data', 'displayName']), inline, at);
    const type = this.#findings.text(mimeType, `${at}.mimeType`).toLowerCase();
    const url = { value: `data:${type};base64,${this.#findings.text(data, `${at}.data`)}`, field: at };
    if (type.startsWith('image/')) return [{ kind: 'image', url, detail: { value: undefined, field: at } }];
    if (type !== 'application/pdf' && !type.startsWith('text/')) {
      this.#findings.refuse(`${at}.mimeType`, 'expected an image, a PDF or a text, which this model reads');
    }
    const name = typeof displayName === 'string' ? displayName : undefined;
    return [
      {
        kind: 'file',
        data: url,
        url: undefined,
        name: name ?? (type === 'application/pdf' ? 'document.pdf' : undefined),
      },
    ];
  }

  #file(part: Fields, where: string): readonly Part[] {
    this.#expect(part, ['fileData'], where);
    const at = `${where}.fileData`;
    const { mimeType, fileUri } = this.#findings.object(part.fileData, at) ?? {};
    const url = { value: this.#findings.text(fileUri, `${at}.fileUri`), field: `${at}.fileUri` };
    if (!String(mimeType).startsWith('image/')) this.#findings.refuse(at, UNTRANSLATABLE);
    return [{ kind: 'image', url, detail: { value: undefined, field: at } }];
  }

  /** Reads output. Reasoning of other hosts is encoded in the signature of the part after it. */
  #written(part: Fields, where: string): readonly Written[] {
    const { thought, thoughtSignature: signature, functionCall: call } = part;
    const field = 'contents.parts.thoughtSignature';
    const blocks = blocksInSignature(signature);
    if (signature !== undefined && blocks === undefined) this.#findings.ignore(field);
    const reasoning = (blocks ?? []).map((block) => ({ kind: 'reasoning', block, field }) as const);
    if (isObject(call)) return [...reasoning, this.#call(part, call, where)];
    if (thought === true) {
      this.#findings.ignore('contents.parts.thought');
      return reasoning;
    }
    const said = this.#sourced(part, where);
    return said.length === 0 ? reasoning : [...reasoning, { kind: 'parts', parts: said }];
  }

  #call(part: Fields, call: Fields, where: string): Call {
    const at = `${where}.functionCall`;
    this.#expect(part, ['functionCall'], where);
    this.#findings.expectOnly(new Set(['id', 'name', 'args']), call, at);
    const number = this.#calls++;
    const id = typeof call.id === 'string' && call.id !== '' ? call.id : `call_${number}`;
    const name = this.#findings.text(call.name, `${at}.name`);
    this.#open.push({ id, name });
    return { kind: 'call', id, hostName: name, input: { value: this.#findings.object(call.args, `${at}.args`) ?? {} } };
  }

  #output(part: Fields, where: string): Output {
    const at = `${where}.functionResponse`;
    this.#expect(part, ['functionResponse'], where);
    const given = part.functionResponse as Fields;
    this.#findings.expectOnly(new Set(['id', 'name', 'response', 'parts']), given, at);
    const attached = listOf(given.parts).flatMap((each, index) =>
      isObject(each) ? this.#sourced(each, `${at}.parts[${index}]`) : [],
    );
    const text = outputText(this.#findings.object(given.response, `${at}.response`) ?? {});
    const callId = this.#callOf(given, at);
    return { callId, content: attached.length === 0 ? text : [{ kind: 'text', text }, ...attached] };
  }

  /** Returns the call with this id, or else the first open call with this name. */
  #callOf({ id, name }: Fields, where: string): string {
    const byId = this.#open.findIndex((each) => each.id === id);
    const index = byId >= 0 ? byId : this.#open.findIndex((each) => each.name === name);
    const [call] = index < 0 ? [] : this.#open.splice(index, 1);
    if (call === undefined) {
      this.#findings.refuse(`${where}.name`, `expected a functionCall of ${printableName(String(name))} before it`);
    }
    return call?.id ?? '';
  }

  #expect(part: Fields, members: readonly string[], where: string): void {
    for (const name of IGNORED) if (part[name] !== undefined) this.#findings.ignore(`contents.parts.${name}`);
    const known = new Set([...members, ...IGNORED, 'thought', 'thoughtSignature']);
    this.#findings.expectOnly(known, part, where);
  }
}

/** Returns the field `output`, as recommended by Google, or else the whole response as JSON. */
function outputText(response: Fields): string {
  const { output, ...others } = response;
  return typeof output === 'string' && Object.keys(others).length === 0 ? output : JSON.stringify(response);
}
