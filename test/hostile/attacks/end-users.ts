/** Attacks of end users whom their app names truthfully, in every dialect and every place for a name. */
import { startTestGateway, type TestGateway, type TestKey } from '../../support/gateway.ts';
import {
  ASKED,
  type Asked,
  answerOf,
  COST_NANOS,
  gatewayFor,
  isOfGoogle,
  pathOf,
  sendingOf,
  USER_PLACES,
} from '../../support/named-users.ts';
import type { Attack, Family } from '../attack.ts';

const USER = 'mallory';
/** The cost of one request. */
const LIMIT_USD = '0.01';
const LIMIT_NANOS = BigInt(COST_NANOS);

interface Host {
  readonly kind: 'openai' | 'google';
  readonly where: string;
  readonly asked: readonly Asked[];
}

const HOSTS: readonly Host[] = [
  { kind: 'openai', where: 'in any dialect but those of Google', asked: ASKED.filter((asked) => !isOfGoogle(asked)) },
  // To count tokens is free, and bound by no limit of an end user.
  {
    kind: 'google',
    where: 'in a dialect of Google',
    asked: ASKED.filter((asked) => isOfGoogle(asked) && asked !== 'countTokens'),
  },
];

/** Sends a request in each dialect for each place, one after another. Returns how many the host was asked to serve. */
async function served({ kind, asked }: Host, prepare: (gateway: TestGateway, key: TestKey) => void): Promise<number> {
  const gateway = await startTestGateway(gatewayFor(kind));
  try {
    const key = gateway.key();
    prepare(gateway, key);
    let requests = 0;
    for (const each of asked) {
      for (const place of USER_PLACES) {
        gateway.upstream.follow(answerOf(each));
        await gateway.request(pathOf(each), { key, ...(await sendingOf(each, { [place]: USER })) });
        requests += gateway.upstream.calls.length;
      }
    }
    return requests;
  } finally {
    await gateway.stop();
  }
}

const ATTACKS = HOSTS.flatMap((host): readonly Attack[] => {
  const requests = host.asked.length * USER_PLACES.length;
  const tries = `${requests} requests ${host.where}, which name their end user in the header or in one of the fields`;
  return [
    {
      claim: `a blocked end user is served nothing ${host.where}, wherever they are named`,
      passes: 'block of an end user',
      tries: `${tries}; the operator has blocked this user`,
      unit: `of ${requests} requests that reached the host`,
      most: 0,
      run: () => served(host, (gateway, key) => gateway.setUser(key, USER, { state: 'disabled' })),
    },
    {
      claim: `the spend limit of an end user holds ${host.where}, wherever they are named`,
      passes: 'spend limit',
      tries: `${tries}; the user has a spend limit of ${LIMIT_USD} USD, which is the cost of one request`,
      unit: 'times the spend limit',
      most: 1,
      run: () => served(host, (gateway, key) => gateway.setUser(key, USER, { spendLimitNanos: LIMIT_NANOS })),
    },
  ];
});

export const END_USERS: Family = {
  title: 'End users',
  about:
    'Limits of an end user hold for the name that the app sends. It may stand in a header or in three fields of the body, in any dialect.',
  attacks: ATTACKS,
};
