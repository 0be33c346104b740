/** Converse, of hosts of Amazon Bedrock. */
import type { HostFormat } from '../translation.ts';
import { ConverseAnswerReader } from './converse-answer-reader.ts';
import { writeConverseRequest } from './converse-request-writer.ts';

export const CONVERSE_HOST: HostFormat = {
  dialect: 'converse',
  write: writeConverseRequest,
  reader: (writer) => new ConverseAnswerReader(writer),
};
