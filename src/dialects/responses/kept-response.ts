/** A response that its host keeps, when it is asked for again, or deleted. */
import { NO_FACTS } from '../answer.ts';
import type { Dialect } from '../dialect.ts';
import { RESPONSES } from './responses.ts';

/** Whatever object a host answers is passed on. */
export const KEPT_RESPONSE: Dialect = {
  ...RESPONSES,
  answerFields: new Set([...RESPONSES.answerFields, 'deleted']),
  readAnswer: () => ({ ...NO_FACTS, choices: 1 }),
};
