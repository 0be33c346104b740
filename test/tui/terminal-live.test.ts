/**
 * What the dashboard shows of requests and of the gateway on a real terminal, compared with the
 * commands.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseUsd } from '../../src/core/money.ts';
import { exactUsd } from '../../src/operator/format.ts';
import { CONCURRENCY } from '../support/cli.ts';
import { Desk } from '../support/terminal.ts';
import { bounded } from '../support/wait.ts';

interface RequestJson {
  readonly outcome: string;
  readonly source: string;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd: string;
}

/** A row of Live: its model, the app that called, its tokens in and out. */
const ROW = /mock\/paid +node +\d+ +(\d+) /;

describe('beside a gateway', { concurrency: CONCURRENCY }, () => {
  test('the requests on the screen are those that the gateway serves and journals', async (t) => {
    const desk = await Desk.open(t);
    const { place } = desk;
    const { key } = await place.createKey('app');
    await place.json('credit', 'add', '100');
    const serving = await place.serveHere();
    await desk.dashboard();
    await desk.type('3');
    await desk.shows(/No requests yet/);

    let isOpen = false;
    const started = async (prompt: string) => {
      const messages = [{ role: 'user', content: prompt }];
      const response = await serving.chat(key, { model: 'mock/paid', stream: true, messages });
      const id = response.headers.get('x-request-id') ?? '';
      await desk.shows(/ running/);
      // The cursor stays on its request.
      await desk.press('Home');
      // The details stay open from the first request on.
      if (!isOpen) await desk.press('Enter');
      isOpen = true;
      await desk.shows(new RegExp(` USD  ${id}$`, 'm'));
      return { response, id };
    };
    /** The request in the first row has ended, and its details are open. */
    const ended = (id: string) => new RegExp(`^ +AGE .*\\n +\\d+s ago .*\\n[^]* USD  ${id}$`, 'm');
    const outOf = (screen: string) => Number(ROW.exec(screen)?.[1]);
    /** The row and the details agree with the journal. */
    const assertJournaled = async (id: string, screen: string) => {
      const journaled = await place.json<RequestJson>('requests', 'show', id);
      const { outcome, source, prompt_tokens: input, completion_tokens: output, cost_usd: cost } = journaled;
      // Beside the cause of an error there is no room for figures in the row.
      assert.match(screen, new RegExp(`mock/paid .*${outcome}`));
      assert.match(screen, new RegExp(`^${outcome}  ${exactUsd(parseUsd(cost) ?? 0n)} USD  ${id}$`, 'm'));
      assert.match(screen, new RegExp(`tokens +${input} in, ${output} out \\(${source}\\)`));
    };

    for (const [title, directive] of [
      ['reports', ''],
      ['does not report', ' /no-usage'],
    ]) {
      await t.test(
        `a stream grows on the screen, and ends as journaled, when the provider ${title} usage`,
        async () => {
          const { response, id } = await started(`/words 40 /pace 40ms${directive}`);
          const early = outOf(await desk.shows(/ running/));
          await desk.shows(new RegExp(`mock/paid +node +\\d+ +(?!${early} )\\d+ .* running`));
          const late = outOf(await desk.screen());
          assert.ok(late > early, `${early}, then ${late}`);
          await response.text();
          await assertJournaled(id, await desk.shows(ended(id)));
        },
      );
    }

    await t.test('a stream is stopped after y: its client gets an error, and pays for what it received', async () => {
      const { response, id } = await started('/words 10 /stall 3');
      await desk.type('x');
      await desk.shows(new RegExp(`Stop ${id}\\?`));
      await desk.type('y');
      assert.match(await bounded(response.text(), 'the end of the stream'), /"error":\{"code":.*\n\ndata: \[DONE\]/);
      await assertJournaled(id, await desk.shows(ended(id)));
      await desk.type('x');
      await desk.shows(/This request has already ended/);
    });
  });

  test('without a gateway the stored figures are shown, and the screen follows gateways that start and stop', async (t) => {
    const desk = await Desk.open(t);
    const { place } = desk;
    const { key } = await place.createKey('app');
    const first = await place.serve();
    assert.equal(await first.chatOutcome(key), '200');
    await first.stop();

    await desk.dashboard();
    await desk.shows(/○ no gateway running; showing stored figures/);
    await desk.shows(/^this month +1 request,/m);
    await desk.type('2');
    for (const [signal, requests] of [
      ['SIGTERM', 2],
      ['SIGKILL', 3],
    ] as const) {
      const serving = await place.serve();
      await desk.shows(new RegExp(`● serving ${serving.url.slice('http://'.length)}`));
      assert.equal(await serving.chatOutcome(key), '200');
      await desk.shows(new RegExp(`^app +enabled .* ${requests}/600$`, 'm'));
      serving.signal(signal);
      await serving.ended;
      await desk.shows(/○ gateway stopped; waiting for it to start/);
    }
    await desk.type('1');
    await desk.shows(/! GATEWAY stopped at /);
    await desk.type('2');
    const last = await place.serveHere();
    await desk.shows(new RegExp(`● serving ${last.url.slice('http://'.length)}`));
  });
});
