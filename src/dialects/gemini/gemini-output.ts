/** Reads the output in a part of a candidate. */
import { isObject, objectOf } from '../../core/json.ts';
import { bytesOfBase64, NO_OUTPUT, type Output, unseenTokensOf } from '../answer.ts';

/** Bytes of audio per output token: 16-bit samples at 24 kHz, with 25 tokens per second. */
export const AUDIO_BYTES_PER_TOKEN = 1_920;

/** Returns the output of a part. Results of the host's own tools are input. */
export function outputOfPart(part: unknown): Output {
  if (!isObject(part)) return NO_OUTPUT;
  const { text, functionCall: call, toolCall, executableCode: code, inlineData, thoughtSignature } = part;
  const written: string[] = [];
  if (typeof text === 'string') written.push(text);
  if (isObject(call)) {
    if (typeof call.name === 'string') written.push(call.name);
    if (isObject(call.args)) written.push(JSON.stringify(call.args));
    // Streamed arguments arrive in pieces.
    if (Array.isArray(call.partialArgs)) written.push(JSON.stringify(call.partialArgs));
  }
  if (isObject(toolCall) && isObject(toolCall.args)) written.push(JSON.stringify(toolCall.args));
  if (isObject(code) && typeof code.code === 'string') written.push(code.code);
  const data = objectOf(inlineData);
  const isAudio = String(data.mimeType).startsWith('audio/');
  const isImage = data.data !== undefined && !isAudio;
  return {
    written,
    unseenTokens: unseenTokensOf(thoughtSignature),
    images: isImage ? 1 : 0,
    audioBytes: isAudio ? bytesOfBase64(data.data) : 0,
  };
}
