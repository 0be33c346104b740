/**
 * Attacks on the operator's terminal: names with characters that move its cursor or turn its text
 * around.
 */
import { Workplace } from '../../support/cli.ts';
import { chat, startTestGateway } from '../../support/gateway.ts';
import type { Attack, Family, WorkshopLike } from '../attack.ts';

/** ESC, the one-character CSI, a bell, and what turns the direction of text around. */
const CHARACTERS = ['\u001b[2J', '\u009b31m', '\u0007', '\u202e', '\u2067', '\u200f', '\u061c', '\ufeff'];
/** All control and format characters but the line feed. */
const RAW = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

const rawIn = (text: string) => (text.match(RAW) ?? []).filter((character) => character !== '\n').length;

type Words = (character: string) => readonly string[];

const COMMANDS: readonly (readonly [what: string, change: Words, show: readonly string[]])[] = [
  ['an allowlist that is set', (x) => ['allowlist', 'set', 'app', `mock/${x}echo`], ['allowlist', 'show', 'app']],
  ['a note of credit', (x) => ['credit', 'add', '1', '--note', `for ${x} app`], ['credit', 'history']],
  [
    'the allowlist of a new key',
    (x) => ['keys', 'create', `k${x.length}`, '--allow', `mock/${x}echo`],
    ['keys', 'list'],
  ],
];

const byCommand: Attack[] = COMMANDS.map(([what, change, show]) => ({
  claim: `${what} takes no character that a terminal obeys`,
  passes: 'terminal',
  tries: `puts ESC, CSI, a bell and bidi characters into ${what}`,
  unit: 'such characters taken or printed',
  most: 0,
  async run({ scope }: WorkshopLike) {
    const place = new Workplace(scope);
    await place.createKey('app');
    let figure = 0;
    for (const character of CHARACTERS) {
      const { status, stdout, stderr } = await place.run(change(character));
      figure += (status === 0 ? 1 : 0) + rawIn(stdout) + rawIn(stderr);
    }
    const { stdout } = await place.run(show);
    return figure + rawIn(stdout);
  },
}));

const bySender: Attack = {
  claim: 'the model in a request brings no such character into an error',
  passes: 'terminal',
  tries: 'asks for models with such characters in their names',
  unit: 'such characters in the errors',
  most: 0,
  async run() {
    const gateway = await startTestGateway();
    try {
      const key = gateway.key({ rpm: 1_000 });
      let figure = 0;
      for (const character of CHARACTERS) {
        for (const model of [`fake/${character}`, `${character}/echo`, character]) {
          figure += rawIn((await gateway.complete(key, chat({ model }))).error.message);
        }
      }
      return figure;
    } finally {
      await gateway.stop();
    }
  },
};

/** What a program for tables reads as a formula, or as the end of a cell. */
const FORMULAS = ['=1+1', '+1+1', '-1+1', '@SUM(1)', '\t=1+1', '\r=1+1'];

const bySheet: Attack = {
  claim: 'the name of a user is no formula in a table',
  passes: 'terminal',
  tries: 'sends requests for users whose names are formulas; the operator opens the table of usage',
  unit: 'formulas in the table',
  most: 0,
  async run({ scope }: WorkshopLike) {
    const place = new Workplace(scope);
    const { key } = await place.createKey('app');
    const serving = await place.serveHere();
    for (const user of FORMULAS) await (await serving.chat(key, { model: 'mock/echo', user })).text();
    await serving.stop();
    const { stdout } = await place.run(['usage', '--by', 'user', '--csv']);
    return (stdout.match(/^"?[=+\-@\t\r]/gm) ?? []).length;
  },
};

export const TERMINAL: Family = {
  title: 'The terminal of the operator',
  about: 'Names of models, users and notes are printed by commands and the dashboard.',
  attacks: [...byCommand, bySender, bySheet],
};
