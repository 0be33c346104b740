/** A runs the audit beside the dashboard, shows how far it is, and shows its verdict in full. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startAudit } from '../../src/tui/audit-run.ts';
import type { Event } from '../../src/tui/update/step.ts';
import { after, alone, press, screenText, serving } from './samples.ts';

const progress = { kind: 'audit_progress', read: 1_500_000, of: 6_000_000 } as const;
const ended = {
  kind: 'audit_ended',
  title: 'a.db: everything agrees.',
  lines: ['balance: 1 row, agrees'],
  tone: 'good',
} as const;

describe('an audit', () => {
  const started = press(serving(), 'A');

  test('is started, also where nothing may be changed', () => {
    assert.deepEqual(started.effects, [{ kind: 'audit' }]);
    assert.deepEqual(press({ ...alone(), isReadOnly: true }, 'A').effects, [{ kind: 'audit' }]);
  });

  test('says how far it is, and then its verdict', () => {
    assert.match(screenText(after(started.model, progress)), /1,500,000 of 6,000,000 journal rows/);
    const screen = screenText(after(started.model, progress, ended));
    assert.match(screen, /a\.db: everything agrees\./);
    assert.match(screen, /balance: 1 row, agrees/);
  });

  test('is stopped by Esc and by nothing else, and tells nothing then', () => {
    assert.deepEqual(press(started.model, 'enter', 'q', 'x', ' '), { model: started.model, effects: [] });
    const stopped = press(started.model, 'escape');
    assert.deepEqual(stopped.effects, [{ kind: 'stop_audit' }]);
    assert.deepEqual(after(stopped.model, progress, ended), stopped.model);
  });
});

describe('the process of an audit', () => {
  /** Runs a program in place of this one, to its end. */
  const toldBy = (script: string) =>
    new Promise<Event[]>((resolve) => {
      const all: Event[] = [];
      startAudit(
        '/etc/gw.yaml',
        (told) => {
          all.push(told);
          if (told.kind === 'audit_ended') resolve(all);
        },
        [process.execPath, '-e', script, '--'],
      );
    });

  test('is told which config, and tells how far it is and what it found', async () => {
    const told = await toldBy(`
      process.send({ done: 2, of: 5 });
      const [, ...words] = process.argv;
      const differences = ['1 is 2', words.join(' ')];
      console.log(JSON.stringify({ ok: false, path: 'a.db', checks: [{ check: 'sums', rows: 1200, differences, notes: ['3 is known'] }] }));
      process.exitCode = 1;`);
    assert.deepEqual(told, [
      { kind: 'audit_progress', read: 2, of: 5 },
      {
        kind: 'audit_ended',
        title: 'a.db: not everything agrees.',
        lines: ['sums: 1,200 rows, DIFFERS', '- 1 is 2', '- --config /etc/gw.yaml audit --json', '- 3 is known'],
        tone: 'bad',
      },
    ]);
  });

  test('may fail, and its errors are shown', async () => {
    const told = await toldBy(`console.error('error: cannot open'); process.exitCode = 1;`);
    assert.deepEqual(told.at(-1), {
      kind: 'audit_ended',
      title: 'The audit failed.',
      lines: ['error: cannot open'],
      tone: 'bad',
    });
  });
});
