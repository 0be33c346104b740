/** Commands that messages suggest are for the same installation: they have the `-c` that was given. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CONFIG, Workplace } from '../support/cli.ts';

/** With the words of the suggestion after its config. A state without keys and groups, and one with `app` and `team`. */
const SUGGESTING: Readonly<Record<string, readonly (readonly [args: string, suggests: string])[]>> = {
  'empty.yaml': [
    ['keys list', 'keys create'],
    ['groups list', 'groups create'],
    ['credit history', 'credit add'],
    ['explain body.json', 'keys create'],
    ['init', 'config check'],
  ],
  'other.yaml': [
    ['keys show none', 'keys list'],
    ['keys rotate @team', 'keys list --group'],
    ['keys rotate none', 'keys list'],
    ['keys rotate app', 'keys disable'],
    ['keys create third --allow x/y', 'models'],
    ['keys create third --in @none', 'groups list'],
    ['groups show @none', 'groups list'],
    ['users list --key app', 'usage --by user'],
    ['users show zoe --key app', 'users list'],
    ['allowlist add app mock/echo', 'allowlist set'],
    ['allowlist remove app mock/echo', 'allowlist set'],
    ['requests show req_none', 'requests'],
    ['requests --refused', 'keys show <key> --refusals'],
    ['explain body.json --key app', 'credit add'],
    ['alerts list', 'alerts test'],
    ['backup copy.db', 'restore'],
    ['status', 'serve'],
    ['env --client claude --model x/y', 'models'],
    ['env', 'keys create'],
    ['run -- true', 'run --max-usd'],
    ['run --max-usd 1', 'run --max-usd'],
    ['tui --json', 'status --json'],
  ],
};
/** A command of this program in a message: with its words up to the end of the quotation or sentence. */
const COMMAND = /inf-gw (?!state file|serve is)[-a-z][^`\n;]*/g;

describe('what a command suggests has the -c that it was given:', () => {
  const place = new Workplace({ after });
  before(async () => {
    const config = CONFIG.replace('127.0.0.1:0', '127.0.0.1:1');
    place.write('empty.yaml', config.replace('./state.db', './empty.db'));
    place.write('other.yaml', config.replace('./state.db', './other.db'));
    place.write('body.json', '{"model":"mock/paid","messages":[{"role":"user","content":"Hi"}],"max_tokens":5}');
    await place.run(['-c', 'other.yaml', 'keys', 'create', 'app']);
    await place.run(['-c', 'other.yaml', 'groups', 'create', 'team']);
  });
  for (const [config, rows] of Object.entries(SUGGESTING)) {
    for (const [args, suggests] of rows) {
      test(`${args}: ${suggests}`, async () => {
        const { stdout, stderr } = await place.run(['-c', config, ...args.split(' ')]);
        const commands = `${stdout}\n${stderr}`.replaceAll(/\s*\n\s+/g, ' ').match(COMMAND) ?? [];
        // What writes or names a file shows its path.
        const named = commands.map((each) => each.replace(/-c \S*\//, '-c '));
        assert.ok(
          named.some((each) => each.startsWith(`inf-gw -c ${config} ${suggests}`)),
          `${stdout}${stderr}`,
        );
        assert.deepEqual(
          named.filter((each) => !each.startsWith(`inf-gw -c ${config} `)),
          [],
        );
      });
    }
  }

  test('and none where none was given', async () => {
    place.write('config.yaml', CONFIG);
    assert.match((await place.run(['keys', 'list'])).stdout, /: inf-gw keys create my-app\n/);
  });
});
