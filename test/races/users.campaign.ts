/** Users of one app at length: each races for a dollar a day, by itself and beside all others. */
import { openState } from '../../src/state/open.ts';
import { auditElsewhere } from '../support/auditor.ts';
import { campaign } from '../support/campaign.ts';
import { startTestGateway } from '../support/gateway.ts';
import { DEAR_MODEL, raceForGroup, raceOfUsers } from './crowd.ts';

/** So many are of one app. */
const BATCH = 10_000;

export default campaign({
  proves: 'end users of a key, and keys of a group, spend what they may and no more',
  amounts: { users: 10_000 },
  minutes: 2,
  async run(course, { users }) {
    const gateway = await startTestGateway({ provider: { models: DEAR_MODEL }, credit: String(2 * users + 1_000) });
    course.after(() => gateway.stop());
    const state = await openState({ kind: 'file', path: gateway.statePath }, 'full');
    course.after(() => state.close());
    const arena = { ports: [gateway.port], upstream: gateway.upstream, state };
    let done = 0;
    while (done < users && !course.isOver()) {
      const count = Math.min(BATCH, users - done);
      course.deviate(...(await raceForGroup(arena, `department ${done}`)));
      course.deviate(...(await raceOfUsers(arena, `app ${done}`, count, course.random)));
      done += count;
      course.progress(done, users, 'users');
    }
    for (const { name, differences } of await auditElsewhere(gateway.statePath)) {
      course.deviate(...differences.map((text) => `audit, ${name}: ${text}`));
    }
    return `${done} users`;
  },
});
