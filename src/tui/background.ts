/** Asks the terminal for its background, so that colours are readable on it. */
import type { Background } from './theme.ts';

/**
 * OSC 11 asks for the colour. Every terminal answers DA1, which follows, so a terminal that ignores OSC 11 causes no
 * wait.
 */
const QUESTION = '\u001b]11;?\u0007\u001b[c';
const ESCAPE = '\u001b';
const COLOUR = new RegExp(
  `${ESCAPE}\\]11;rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})[^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)`,
  'i',
);
const ATTRIBUTES = new RegExp(`${ESCAPE}\\[\\?[\\d;]*c`);
/** Longest wait for the terminal's answer. */
const MOST_WAIT_MS = 500;
/** The brightness, as a share of white, above which a background counts as light. */
const LIGHT = 0.5;

type Input = Pick<NodeJS.ReadStream, 'setRawMode' | 'on' | 'off' | 'read' | 'unshift'>;

/** Returns the background that the terminal reports, else the one in COLORFGBG, else dark. */
export async function askBackground(
  input: Input,
  output: Pick<NodeJS.WriteStream, 'write'>,
  env: NodeJS.ProcessEnv,
): Promise<Background> {
  const answer = await answerOf(input, output);
  return backgroundIn(answer) ?? backgroundOf(env) ?? 'dark';
}

/** Reads the terminal's answer and returns any typed text to the input. */
async function answerOf(input: Input, output: Pick<NodeJS.WriteStream, 'write'>): Promise<string> {
  let text = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  const onReadable = () => {
    for (let chunk = input.read(); chunk !== null; chunk = input.read()) text += String(chunk);
    if (ATTRIBUTES.test(text)) resolve();
  };
  const timer = setTimeout(resolve, MOST_WAIT_MS);
  input.setRawMode(true);
  input.on('readable', onReadable).on('end', resolve);
  output.write(QUESTION);
  await promise;
  clearTimeout(timer);
  input.off('readable', onReadable).off('end', resolve);
  input.setRawMode(false);
  const typed = text.replace(COLOUR, '').replace(ATTRIBUTES, '');
  if (typed !== '') input.unshift(Buffer.from(typed));
  return text;
}

/** Returns the background in a terminal's answer; undefined if the answer contains no colour. */
export function backgroundIn(answer: string): Background | undefined {
  const [, ...levels] = COLOUR.exec(answer) ?? [];
  if (levels.length < 3) return undefined;
  const [red = 0, green = 0, blue = 0] = levels.map((each) => Number.parseInt(each, 16) / (16 ** each.length - 1));
  // Perceived brightness: the eye weighs green most and blue least.
  return 0.299 * red + 0.587 * green + 0.114 * blue > LIGHT ? 'light' : 'dark';
}

/** `COLORFGBG=15;0`: the second number is the background, one of 16 colours. */
function backgroundOf({ COLORFGBG: colours }: NodeJS.ProcessEnv): Background | undefined {
  const index = Number(colours?.split(';').at(-1) || Number.NaN);
  if (Number.isNaN(index)) return undefined;
  return index === 7 || index > 8 ? 'light' : 'dark';
}
