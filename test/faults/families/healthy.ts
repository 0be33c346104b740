/** No failure: the reference for all the others. */
import { type Family, fault, on, whole } from '../cell.ts';
import { ANSWER, finishing, midStream } from '../pieces.ts';

const json = on((call) => call.answer(200, ANSWER), whole());
const stream = on(midStream(finishing), whole());

export const HEALTHY: Family = {
  title: 'It answers as it should',
  about: 'For comparison. The provider reports what was used.',
  faults: [fault('answers', json, stream), fault('answers over TLS', json, stream, 'tls')],
};
