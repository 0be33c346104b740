/** A command that sends many requests at once, which declare no maximum unless these fields do, and says how they were answered. */
const [, , count = '', fields = '{}'] = process.argv;
const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env;
const headers = { authorization: `Bearer ${OPENAI_API_KEY}`, 'content-type': 'application/json' };
const messages = [{ role: 'user', content: 'Go on.' }];
const body = JSON.stringify({ model: 'host/paid', messages, ...(JSON.parse(fields) as object) });

const statuses = await Promise.all(
  Array.from({ length: Number(count) }, async () => {
    const answer = await fetch(`${OPENAI_BASE_URL}/chat/completions`, { method: 'POST', headers, body });
    await answer.text();
    return answer.status;
  }),
);
process.stdout.write(`${statuses.toSorted().join(' ')}\n`);
