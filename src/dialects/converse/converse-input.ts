/** The input of a request of Converse: its texts and attachments. */
import { isObject } from '../../core/json.ts';
import { type Reading, readData } from '../attachments.ts';
import type { Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { type FieldKinds, walkFields, walkMessage } from '../input.ts';

const FIELDS: FieldKinds = {
  settings: new Set(['model', 'stream', 'inferenceConfig', 'serviceTier', 'additionalModelRequestFields']),
  unnamed: new Set(['toolConfig', 'outputConfig']),
  walked: new Set(['messages', 'system']),
};

export function walkConverse({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  const system = fields.system === undefined ? [] : [{ content: fields.system }];
  const messages = Array.isArray(fields.messages) ? fields.messages.filter(isObject) : [];
  return [...system, ...messages].reduce((tokens, message) => tokens + walkMessage(message, readObject, visit), 0);
}

/** The input of a call is text to a model, whatever is in it. */
function readObject(name: string, value: Fields): Reading | undefined {
  switch (name) {
    case 'image':
      return readSource(value, 'image', `image/${value.format}`);
    case 'document':
      return readSource(value, 'file', value.format === 'pdf' ? 'application/pdf' : undefined);
    case 'toolUse':
      return { attachments: [], texts: [JSON.stringify(value.input ?? {})], others: { name: value.name } };
    default:
      return undefined;
  }
}

function readSource(value: Fields, expected: 'image' | 'file', mediaType: string | undefined): Reading | undefined {
  if (!isObject(value.source)) return undefined;
  const { source, ...others } = value;
  const reading = readData({ holder: value.source, field: 'bytes' }, expected, mediaType);
  return { ...reading, others };
}
