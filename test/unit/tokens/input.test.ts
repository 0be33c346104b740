/** Counting an input for its client alone: close to the whole, whatever it is, and cheap however long. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { ModelRequest } from '../../../src/dialects/dialect.ts';
import { TokenCounter } from '../../../src/tokens/counter.ts';
import { countInput } from '../../../src/tokens/input.ts';
import { testModel } from '../../support/models.ts';
import { messagesRequest } from '../dialects/messages/messages.ts';

const counter = new TokenCounter(60_000);
after(() => counter.close());
/** One that has other work. */
const busy = { count: async () => undefined } as unknown as TokenCounter;

const PROSE = 'The quick brown fox jumps over the lazy dog, and nobody knows why it would not rather sleep.\n';
const DENSE = '§ 7x!Q+ß€ ';
/** The characters of a long input: several times what is looked at. */
const LONG = 2 * 1024 * 1024;
const repeated = (text: string, length: number) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
/** Counts so many times the tokens of one piece. */
const tokensOf = (text: string, length: number) => (countTokens(repeated(text, 10_000)) * length) / 10_000;

function request(contents: readonly string[]): ModelRequest {
  return messagesRequest({ messages: contents.map((content) => ({ role: 'user', content })) });
}

const MODEL = testModel('p/m');

function assertNear(counted: number, tokens: number, share: number): void {
  const error = Math.abs(counted / tokens - 1);
  assert.ok(error <= share, `${counted} counted of ${tokens}: ${(100 * error).toFixed(1)}%`);
}

describe('the tokens of an input', () => {
  test('are those of the tokenizer, plus the overhead of the format', async () => {
    assert.equal(
      await countInput(counter, request(['How are you?', 'Fine.']), MODEL),
      countTokens('How are you?Fine.') + 6,
    );
  });

  const CASES: readonly (readonly [what: string, contents: readonly string[], tokens: number])[] = [
    ['one long text', [repeated(PROSE, LONG)], tokensOf(PROSE, LONG)],
    ['many short ones', Array(20_000).fill(PROSE), 20_000 * (countTokens(PROSE) + 3)],
    [
      'a dense part among long ones',
      [repeated(PROSE, LONG), repeated(DENSE, LONG / 4), repeated(PROSE, LONG)],
      tokensOf(PROSE, 2 * LONG) + tokensOf(DENSE, LONG / 4),
    ],
    [
      'blanks, with words between',
      [repeated(`${' '.repeat(900)}word`, LONG)],
      tokensOf(`${' '.repeat(900)}word`, LONG),
    ],
  ];
  for (const [what, contents, tokens] of CASES) {
    test(`are near the truth for ${what}`, async () => {
      // The sample is drawn at random: of blanks with words between, one in some hundred is off by more than a tenth.
      assertNear(await countInput(counter, request(contents), MODEL), tokens, 0.25);
    });

    test(`are estimated where the tokenizer has other work, for ${what}`, async () => {
      assertNear(await countInput(busy, request(contents), MODEL), tokens, 1);
    });
  }

  test('take one walk through the request, and a sample of bounded length', async () => {
    const inner = request([repeated(PROSE, LONG)]);
    let walks = 0;
    const dialect: ModelRequest['dialect'] = {
      ...inner.dialect,
      walkInput: (...walked) => {
        walks++;
        return inner.dialect.walkInput(...walked);
      },
    };
    let characters = 0;
    const noting = {
      count: async (texts: readonly string[]) => {
        characters += texts.join('').length;
        return undefined;
      },
    } as unknown as TokenCounter;
    await countInput(noting, { ...inner, dialect }, MODEL);
    assert.equal(walks, 1);
    assert.ok(characters > 0 && characters < 128 * 1024, `${characters}`);
  });
});
