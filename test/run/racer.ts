/**
 * A command that sends requests which declare no maximum unless these fields do: one, or so many at once, and then one after
 * the other until one is refused, since a race may leave room that was held while they raced.
 */
const [, , fields = '{}', racers] = process.argv;
const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env;
const headers = { authorization: `Bearer ${OPENAI_API_KEY}`, 'content-type': 'application/json' };
const messages = [{ role: 'user', content: 'Go on.' }];
const body = JSON.stringify({ model: 'host/paid', messages, ...(JSON.parse(fields) as object) });

async function send(): Promise<number> {
  const answer = await fetch(`${OPENAI_BASE_URL}/chat/completions`, { method: 'POST', headers, body });
  await answer.text();
  return answer.status;
}

if (racers === undefined) {
  await send();
} else {
  await Promise.all(Array.from({ length: Number(racers) }, send));
  while ((await send()) === 200);
}
