/** An agent as `run` starts it: the official client finds its gateway by itself, and asks until it is refused. */
import OpenAI, { APIError } from 'openai';

const OPERATOR_KEY = 'operator-secret-0001';
const client = new OpenAI({ maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'Go on.' }];
const [, , model = '', answers = '', stream] = process.argv;

/** Standard output belongs to the command. */
function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Whether it was done. */
async function attempt(what: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    say(`${what}: done`);
    return true;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    say(`${what}: ${error.code}`);
    process.stderr.write(`${error.message}\n`);
    return false;
  }
}

say(`operator's key: ${Object.values(process.env).filter((value) => value?.includes(OPERATOR_KEY)).length}`);
for (let number = 1; number <= Number(answers); number++) {
  await attempt('answer', () => client.chat.completions.create({ model, messages }));
}
if (stream !== undefined) {
  await attempt('stream', async () => {
    for await (const _ of await client.chat.completions.create({ model, messages, stream: true }));
  });
}
while (await attempt('after', () => client.chat.completions.create({ model, messages })));
await attempt('other', () => client.chat.completions.create({ model: 'mock/echo', messages }));
process.exitCode = 7;
