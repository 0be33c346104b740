/**
 * A host of Amazon Bedrock, as its service definition says (`bedrock-runtime` 2023-09-30, read in 2026-11): the frames of
 * its streams, the fields of Converse, and the check of signatures. Written without the packages that the gateway has for them.
 */
import { createHash, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { UpstreamCall } from './fake-upstream.ts';
import { type Schema, unknownField } from './known-fields.ts';

/** A frame with these headers, all of them strings. */
export function frame(headers: Readonly<Record<string, string>>, payload: string | Buffer): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const lengths = Buffer.alloc(3);
      // The type of a string, and how long it is.
      lengths.writeUInt8(7, 0);
      lengths.writeUInt16BE(Buffer.byteLength(value), 1);
      return Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), lengths, Buffer.from(value)]);
    }),
  );
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + head.length + body.length, 0);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const sum = Buffer.alloc(4);
  const all = Buffer.concat([prelude, head, body]);
  sum.writeUInt32BE(crc32(all), 0);
  return Buffer.concat([all, sum]);
}

/** An event of a stream of Converse: `{contentBlockDelta: …}`. `p` pads it to a length that says nothing. */
export function converseFrame(event: Readonly<Record<string, object>>): Buffer {
  const [[type, value] = ['', {}]] = Object.entries(event);
  const headers = { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' };
  return frame(headers, JSON.stringify({ ...value, p: 'abcdefghijkl' }));
}

/** An event of the model's own dialect. */
export function chunkFrame(event: object): Buffer {
  const headers = { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' };
  return frame(headers, JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' }));
}

export function exceptionFrame(type: string, message: string): Buffer {
  const headers = { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' };
  return frame(headers, JSON.stringify({ message }));
}

/** The head of an answer in frames. */
export const FRAMED = { 'content-type': 'application/vnd.amazon.eventstream', 'x-amzn-requestid': 'r-1' };

/** Answers as Bedrock does when it refuses. */
export function refuse(call: UpstreamCall, status: number, type: string, message: string): void {
  call.answer(status, { message }, { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/` });
}

const SOURCE: Schema = { bytes: true };
const IMAGE: Schema = { format: true, source: SOURCE };
const DOCUMENT: Schema = { name: true, format: true, source: SOURCE };
const CACHE_POINT: Schema = { type: true, ttl: true };
/** What Converse takes, as in the types of `@aws-sdk/client-bedrock-runtime` 3.1164.0, but for what the gateway has no words for. */
const CONVERSE: Schema = {
  messages: [
    {
      role: true,
      content: [
        {
          ...{ text: true, image: IMAGE, document: DOCUMENT, cachePoint: CACHE_POINT },
          toolUse: { toolUseId: true, name: true, input: true },
          toolResult: {
            ...{ toolUseId: true, status: true },
            content: [{ text: true, json: true, image: IMAGE, document: DOCUMENT }],
          },
          reasoningContent: { reasoningText: { text: true, signature: true }, redactedContent: true },
        },
      ],
    },
  ],
  system: [{ text: true, cachePoint: CACHE_POINT }],
  inferenceConfig: { maxTokens: true, temperature: true, topP: true, stopSequences: [true] },
  toolConfig: {
    tools: [
      {
        toolSpec: { name: true, description: true, inputSchema: { json: true }, strict: true },
        cachePoint: CACHE_POINT,
      },
    ],
    toolChoice: { auto: {}, any: {}, tool: { name: true } },
  },
  additionalModelRequestFields: true,
  serviceTier: { type: true },
  outputConfig: {
    effort: true,
    textFormat: { type: true, structure: { jsonSchema: { name: true, description: true, schema: true } } },
  },
};

/** The path of the first field of a request that the definition does not have. */
export function unknownToConverse(body: object): string | undefined {
  return unknownField(body, CONVERSE);
}

/** Answers a request to Converse, whole or as a stream; one with a field that the definition does not have is refused. */
export function askedConverse(
  call: UpstreamCall,
  whole: object,
  events: readonly Readonly<Record<string, object>>[],
): void {
  const unknown = unknownToConverse(JSON.parse(call.body));
  if (unknown !== undefined) return refuse(call, 400, 'ValidationException', `${unknown} is not permitted.`);
  if (call.path.endsWith('/converse')) return call.answer(200, whole);
  streamFrames(call, events.map(converseFrame));
}

/** Sends a stream of frames. */
export function streamFrames(call: UpstreamCall, frames: readonly Buffer[]): void {
  call.stream(FRAMED);
  for (const each of frames) call.send(each);
  call.end();
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** What a signature is of. */
export interface Signed {
  readonly method: string;
  /** As it was sent, with its query. */
  readonly path: string;
  header(name: string): string | undefined;
  readonly body: string;
}

/** The signature that a request should have, by the fields of its `Authorization`: SigV4, as Amazon documents it. */
export function expectedSignature(signed: Signed, secret: string): string {
  const { method, path, body } = signed;
  const authorization = signed.header('authorization') ?? '';
  const [, date = '', region = '', service = ''] =
    /Credential=[^/]+\/(\d+)\/([^/]+)\/([^/]+)\//.exec(authorization) ?? [];
  const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1] ?? '';
  const [pathname = '', query = ''] = path.split('?');
  const canonical = [
    method,
    // Encoded once for the way, and once more for the signature.
    pathname.split('/').map(encodeURIComponent).join('/'),
    query.split('&').toSorted().join('&'),
    ...names.split(';').map((name) => `${name}:${signed.header(name)?.trim()}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', signed.header('x-amz-date'), scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}

/** The signature that a request has. */
export function signatureOf(signed: Pick<Signed, 'header'>): string | undefined {
  return /Signature=([0-9a-f]+)/.exec(signed.header('authorization') ?? '')?.[1];
}
