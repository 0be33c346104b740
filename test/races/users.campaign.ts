/** Users of one app at length: each races for a dollar a day, by itself and beside all others, on both stores. */
import { openState } from '../../src/state/open.ts';
import type { OpenState } from '../../src/state/state.ts';
import { Cluster } from '../nodes/cluster.ts';
import { locationOf } from '../state/database-stage.ts';
import { auditElsewhere } from '../support/auditor.ts';
import { campaign, chosen } from '../support/campaign.ts';
import { startTestGateway } from '../support/gateway.ts';
import type { Scope } from '../support/run-scope.ts';
import { sharedBookFaults } from '../support/shared-books.ts';
import { type Arena, DEAR_MODEL, raceForGroup, raceOfUsers } from './crowd.ts';

/** So many are of one app. */
const BATCH = 10_000;
const NODES = 2;
/** More than all races on a file can spend, in however many minutes. */
const CREDIT = '1000000000';

/** Where a crowd races, and what the auditor says of it afterwards. */
interface Place {
  readonly arena: Arena;
  audit(): Promise<string[]>;
}

const PLACES: Readonly<Record<string, (scope: Scope) => Promise<Place>>> = {
  'a file': openFile,
  'two gateways on a database': openDatabase,
};

export default campaign({
  proves: 'end users of a key, and keys of a group, spend what they may and no more, on a file and over two gateways',
  amounts: { users: 10_000 },
  options: { only: '' },
  minutes: 4,
  async run(course, { users, only }) {
    const told: string[] = [];
    const names = chosen(Object.keys(PLACES), only, String);
    for (const [index, name] of names.entries()) {
      const { arena, audit } = await (PLACES[name] as (typeof PLACES)[string])(course);
      let done = 0;
      do {
        const count = Math.min(BATCH, users - done);
        course.deviate(...(await raceForGroup(arena, `department ${done}`)));
        course.deviate(...(await raceOfUsers(arena, `app ${done}`, count, course.random)));
        done += count;
        course.progress(done, users, `users on ${name}`);
      } while (done < users && !course.isOver((index + 1) / names.length));
      course.deviate(...(await audit()));
      told.push(`${done} users on ${name}`);
    }
    return told.join(', ');
  },
});

async function openFile(scope: Scope): Promise<Place> {
  const gateway = await startTestGateway({ provider: { models: DEAR_MODEL }, credit: CREDIT });
  scope.after(() => gateway.stop());
  const state = await openState({ kind: 'file', path: gateway.statePath }, 'full');
  scope.after(() => state.close());
  return {
    arena: { ports: [gateway.port], upstream: gateway.upstream, state },
    async audit() {
      const checks = await auditElsewhere(gateway.statePath);
      return checks.flatMap(({ name, differences }) => differences.map((text) => `audit, ${name}: ${text}`));
    },
  };
}

async function openDatabase(scope: Scope): Promise<Place> {
  let opened: OpenState | undefined;
  // Before the database ends.
  scope.after(() => opened?.close());
  const { nodes, upstream, url } = await Cluster.open(scope, NODES);
  const state = await openState(locationOf(url), 'full');
  opened = state;
  return {
    arena: { ports: nodes.map(({ port }) => port), upstream, state },
    async audit() {
      const { status, stdout, stderr } = (await nodes[0]?.place.run(['audit'])) ?? { status: 1 };
      return [...(await sharedBookFaults(url)), ...(status === 0 ? [] : [`audit: ${stdout}${stderr}`])];
    },
  };
}
