/** Alerts of a running gateway: what it tells, that it tells it after a kill -9, and that no request waits for it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LEVELS } from '../../src/alerts/judge.ts';
import { testAtLength } from '../support/at-length.ts';
import { CONCURRENCY, CONFIG, type Serving, Workplace } from '../support/cli.ts';
import { Receiver } from './receiver.ts';

/** Each request to the paid model costs 10 tokens at most at these prices. */
const PAID = { model: 'mock/paid', max_tokens: 10 };

function configWith(...urls: string[]): string {
  const webhooks = urls.map((url) => `    - { url: "${url}", secret: hmac-secret }`).join('\n');
  return `${CONFIG}  broken: { kind: mock, models: { echo: { input: 0, output: 0 } } }\nalerts:\n  webhooks:\n${webhooks}\n`;
}

/** Sends requests until the key is refused for money. */
async function spendAll(gateway: Serving, key: string): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const outcome = await gateway.chatOutcome(key, PAID);
    if (outcome === '402 spend_limit_reached') return;
    assert.equal(outcome, '200');
  }
  assert.fail('the key is never refused');
}

describe('a gateway with alerts', { concurrency: CONCURRENCY }, () => {
  test('reports a key that spends, and an upstream that is down', async (t) => {
    const receiver = await Receiver.start(t);
    const place = new Workplace(t, configWith(receiver.url()));
    await place.run(['credit', 'add', '100']);
    const { key, id } = await place.createKey('app', '--spend-limit', '0.1');
    const other = await place.createKey('other');
    const gateway = await place.serveHere();
    await spendAll(gateway, key);
    const messages = [{ role: 'user', content: '/error 503' }];
    for (let i = 0; i < 3; i++) {
      assert.equal(await gateway.chatOutcome(other.key, { model: 'broken/echo', messages }), '502 upstream_error');
    }
    // At least the budget, the refusals, the upstream.
    await receiver.got(3);
    const kinds = () => new Set(receiver.events.map(({ kind }) => kind));
    for (let count = 4; kinds().size < 3; count++) await receiver.got(count);
    const { events } = receiver;
    assert.equal(new Set(events.map((event) => event.id)).size, events.length);
    const levels = events.flatMap(({ kind, figures }) => (kind === 'budget' ? Number(figures.level_percent) : []));
    assert.deepEqual(
      levels,
      LEVELS.filter((level) => levels.includes(level)),
      'rising, and each once',
    );
    assert.equal(levels.at(-1), 100);
    const refused = events.find(({ kind }) => kind === 'refused_for_money');
    assert.deepEqual(refused?.key, { id, name: 'app' });
    assert.equal(events.find(({ kind }) => kind === 'upstream_down')?.upstream, 'broken');
    assert.equal(await gateway.stop(), 0);
    const listed = await place.json<{ id: string; state: string; target: string }[]>('alerts', 'list');
    assert.deepEqual(new Set(listed.map((each) => each.id)), new Set(events.map((each) => each.id)));
    for (const { state, target } of listed) assert.deepEqual([state, target], ['delivered', 'webhook 1']);
    for (const { msg } of gateway.log) assert.doesNotMatch(msg, /hook|hmac-secret/);
  });

  testAtLength(
    'serves on while a receiver hangs, and after a kill -9 tells what was not delivered, by the same id',
    async (t) => {
      const receiver = await Receiver.start(t);
      receiver.answer = 'never';
      // The name is that of the state's only gateway, whatever port it gets.
      const place = new Workplace(t, `node: gateway-1\n${configWith(receiver.url())}`);
      await place.run(['credit', 'add', '100']);
      const { key } = await place.createKey('app', '--spend-limit', '0.1');
      const other = await place.createKey('other');
      const gateway = await place.serve();
      await spendAll(gateway, key);
      await receiver.got(1);
      const [pending] = receiver.events;
      for (let i = 0; i < 20; i++) assert.equal(await gateway.chatOutcome(other.key, PAID), '200');
      gateway.signal('SIGKILL');
      await gateway.ended;
      const before = receiver.received.length;
      receiver.answer = 200;
      await place.serve();
      const events = () => receiver.events.slice(before);
      for (let count = before + 1; !events().some(({ id }) => id === pending?.id); count++) await receiver.got(count);
      assert.equal(new Set(events().map(({ id }) => id)).size, events().length);
    },
  );
});
