/** `POST /v1/audio/transcriptions` and `/translations`: what hosts get of a form, and what its sound costs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { formOf } from '../support/forms.ts';
import { sharedGateway, startTestGateway, type TestKey } from '../support/gateway.ts';
import { m4a, wav } from '../support/sound-files.ts';

/** A second costs 100,000 nanodollars; a token of text 1,000, of sound 6,000, of what is written 5,000. */
const gateway = await sharedGateway({
  provider: {
    models: {
      listener: { upstream: 'whisper-1', per: { minute: 0.006 } },
      brief: { per: { minute: 0.006 }, max_seconds: 100 },
      later: { upstream: 'gpt-4o-transcribe', per: { minute: 0.006 } },
      given: { input: 1, output: 5, audio_input: 6, max_output: 400, per: { second: 0 } },
      openai: { upstream: 'gpt-4o-mini-transcribe', input: 1, output: 5, audio_input: 6, max_output: 400 },
      scribe: { input: 1, output: 5, audio_input: 6, max_output: 400 },
      talker: { input: 1, output: 2 },
    },
  },
});

const PATH = '/v1/audio/transcriptions';
const fixture = (name: string) => readFileSync(new URL(`../unit/wire/media/fixtures/${name}`, import.meta.url));
const FILE = fixture('1.5s-opus.ogg');
/** Its length is known to a decoder alone. */
const INEXACT = fixture('1.5s.m4a');
const FRAGMENTED = fixture('1.5s-fragmented.m4a');

type Fields = readonly (readonly [string, string | Buffer])[];
const BODY: Fields = [
  ['file', FILE],
  ['model', 'fake/listener'],
];

async function post(key: TestKey, fields: Fields = BODY, path = PATH) {
  return gateway.request(path, { key, method: 'POST', ...(await formOf(fields)) });
}

const named = (model: string, ...more: Fields): Fields => [['file', FILE], ['model', `fake/${model}`], ...more];

test('a form reaches the host as it was written, but for its model, wherever that stands', async () => {
  for (const [path, fields] of [
    [PATH, BODY],
    ['/v1/audio/translations', [...BODY].reverse()],
  ] as const) {
    gateway.upstream.follow((call) => call.answer(200, { text: 'Hi.' }));
    const form = await formOf(fields);
    const reply = await gateway.request(path, { key: gateway.key(), method: 'POST', ...form });
    assert.equal(reply.text, '{"text":"Hi."}');
    const call = await gateway.upstream.call();
    assert.equal(call.path, `/base${path}`);
    assert.equal(call.header('content-type'), form.headers['content-type']);
    const expected = form.body.toString('latin1').replace('fake/listener', 'whisper-1');
    assert.equal(call.header('content-length'), String(expected.length));
    assert.equal(Buffer.from(call.body).toString(), Buffer.from(expected, 'latin1').toString());
  }
});

test('a field that the gateway acts on comes without brackets, in which hosts see no difference', async () => {
  for (const name of ['model[]', 'Stream[0]']) {
    const reply = await post(gateway.key(), [...named('listener'), [name, 'true']]);
    assert.equal(reply.status, 400);
    assert.match(reply.error.message, /without brackets$/);
  }
});

describe('sound by the second', () => {
  for (const [what, answer, nanos, source] of [
    ['that the host reports', { text: 'Hi.', usage: { type: 'duration', seconds: 7 } }, 700_000, 'reported'],
    ['of which one has begun', { text: 'Hi.', usage: { type: 'duration', seconds: 1.2 } }, 200_000, 'reported'],
    ['that the answer says', { text: 'Hi.', duration: 1.46 }, 200_000, 'reported'],
    ['that nobody reports', { text: 'Hi.' }, 200_000, 'counted'],
  ] as const) {
    test(`is held by its file, and charged by the seconds ${what}`, async () => {
      const key = gateway.key();
      let held = 0n;
      gateway.upstream.follow((call) => {
        held = gateway.heldNanos(key);
        call.answer(200, answer);
      });
      const reply = await post(key);
      assert.equal(reply.text, JSON.stringify(answer));
      assert.equal(reply.headers.get('content-type'), 'application/json');
      const row = await gateway.row(key);
      assert.deepEqual([held, row.cost_nanos, row.source], [200_000n, nanos, source]);
      assert.equal(row.price, `0/0/0 per_second=0.0001 units=${nanos / 100_000}`);
    });
  }

  test('takes no tokens of any limit, also where its host reports some, and its row has none', async () => {
    const key = gateway.key({ tpm: 10 });
    const usage = { type: 'tokens', input_tokens: 30, output_tokens: 12, total_tokens: 42 };
    gateway.upstream.follow((call) => call.answer(200, { text: 'Hi.', usage }));
    assert.equal((await post(key)).status, 200);
    const { prompt_tokens: read, completion_tokens: written } = await gateway.row(key);
    assert.deepEqual([read, written], [0, 0]);
    assert.equal((await post(key)).status, 200);
  });
});

describe('sound by the token', () => {
  const USAGE = {
    type: 'tokens',
    input_tokens: 30,
    input_token_details: { audio_tokens: 20, text_tokens: 10 },
    output_tokens: 12,
    total_tokens: 42,
  };
  const event = (fields: { readonly type: string }) => `data: ${JSON.stringify(fields)}\n\n`;
  const DELTA = event({ type: 'transcript.text.delta', delta: 'Hi.' } as never);
  const DONE = event({ type: 'transcript.text.done', text: 'Hi.', usage: USAGE } as never);

  test('is charged for what was heard, read and written, streamed or not', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, { text: 'Hi.', usage: USAGE }));
    await post(key, named('scribe'));
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(DELTA);
      call.send(DONE);
      call.end();
    });
    assert.equal((await post(key, named('scribe', ['stream', 'true']))).text, DELTA + DONE);
    for (const row of gateway.rows(key)) {
      assert.deepEqual([row.outcome, row.source], ['ok', 'reported']);
      assert.equal(row.cost_nanos, 20 * 6_000 + 10 * 1_000 + 12 * 5_000);
      assert.equal(row.price, '1/1/5 audio_input=6');
    }
  });

  test('is counted where nobody reports it: the sound as it was held, and the words', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, { text: 'Hello there.' }));
    await post(key, named('scribe', ['response_format', 'text']));
    const row = await gateway.row(key);
    assert.equal(row.source, 'counted');
    assert.ok(row.prompt_tokens >= 48 && row.completion_tokens >= 2 && row.completion_tokens <= 4);
    assert.equal(row.cost_nanos, row.prompt_tokens * 6_000 + row.completion_tokens * 5_000);
  });

  test('is charged for what was written when a stream breaks off', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(DELTA);
      call.end();
    });
    assert.match((await post(key, named('scribe', ['stream', 'true']))).text, /event: error/);
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.source], ['upstream_error', 'counted']);
    assert.ok(row.cost_nanos >= 48 * 6_000 + 5_000);
  });

  test('comes whole where the host does not stream, as the format says', async () => {
    gateway.upstream.follow((call) => call.answer(200, { text: 'Hi.', usage: USAGE }));
    const reply = await post(gateway.key(), named('scribe', ['stream', 'true']));
    assert.equal(JSON.parse(reply.text).text, 'Hi.');
  });
});

/** As OpenAI answers whisper-1. */
const VERBOSE = {
  task: 'transcribe',
  language: 'english',
  duration: 3_725.25,
  text: 'Hi. So --> there.',
  segments: [
    { id: 0, seek: 0, start: 0, end: 0.9996, text: ' Hi.', tokens: [1] },
    { id: 1, seek: 0, start: 61.5, end: 3_725.25, text: ' So --> there.', tokens: [2] },
  ],
  usage: { type: 'duration', seconds: 3_726 },
};

/** The value of a field in a form that a host received; undefined if it has none. */
function fieldOf(body: string, name: string): string | undefined {
  return new RegExp(`name="${name}"\\r\\n(?:[^\\r]+\\r\\n)*\\r\\n([^\\r]*)`).exec(body)?.[1];
}

describe('a format that does not report the length of the sound', () => {
  const SRT = '1\n00:00:00,000 --> 00:00:01,000\nHi.\n\n2\n00:01:01,500 --> 01:02:05,250\nSo -> there.\n\n\n';
  const VTT = 'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nHi.\n\n00:01:01.500 --> 01:02:05.250\nSo -> there.\n\n\n';

  for (const path of [PATH, '/v1/audio/translations']) {
    for (const [format, expected] of [
      ['text', 'Hi. So --> there.\n'],
      ['srt', SRT],
      ['vtt', VTT],
    ] as const) {
      test(`is written from verbose JSON, and charged by the report: ${format} of ${path}`, async () => {
        const key = gateway.key();
        gateway.upstream.follow((call) => call.answer(200, VERBOSE));
        const form = await formOf([['response_format', format], ...named('listener')]);
        const reply = await gateway.request(path, { key, method: 'POST', ...form });
        assert.deepEqual([reply.status, reply.text], [200, expected]);
        assert.equal(reply.headers.get('content-type'), 'text/plain; charset=utf-8');
        const call = await gateway.upstream.call();
        assert.equal(fieldOf(call.body, 'response_format'), 'verbose_json');
        assert.equal(fieldOf(call.body, 'model'), 'whisper-1');
        assert.equal(
          call.header('content-length'),
          String(form.body.length - 'fake/listener'.length + 9 - format.length + 12),
        );
        const row = await gateway.row(key);
        assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['ok', 'reported', 372_600_000]);
      });
    }
  }

  test('is written from JSON where the model is billed by tokens, which that reports', async () => {
    const key = gateway.key();
    const usage = { type: 'tokens', input_tokens: 20, output_tokens: 12, total_tokens: 32 };
    gateway.upstream.follow((call) => call.answer(200, { text: 'Hi.', usage }));
    const reply = await post(key, named('scribe', ['response_format', 'text']));
    assert.equal(reply.text, 'Hi.\n');
    assert.equal(fieldOf((await gateway.upstream.call()).body, 'response_format'), 'json');
    const row = await gateway.row(key);
    assert.deepEqual([row.source, row.cost_nanos], ['reported', 20 * 6_000 + 12 * 5_000]);
  });

  test('is written from the whole answer of a host that ignores stream, which is asked for JSON', async () => {
    gateway.upstream.follow((call) => call.answer(200, VERBOSE));
    const reply = await post(gateway.key(), named('listener', ['stream', 'true'], ['response_format', 'text']));
    assert.equal(reply.text, 'Hi. So --> there.\n');
    assert.equal(fieldOf((await gateway.upstream.call()).body, 'response_format'), 'json');
  });

  test('is charged as held if the host reports no length all the same', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, { text: 'Hi.' }));
    assert.equal((await post(key, named('listener', ['response_format', 'text']))).text, 'Hi.\n');
    assert.equal((await gateway.row(key)).cost_nanos, 200_000);
  });

  test('is an error of the host that sends no segments for subtitles, or no JSON', async () => {
    for (const [answer, type] of [
      [{ text: 'Hi.', duration: 1 }, 'application/json'],
      [{ text: 'Hi.', duration: 1, segments: [{ start: 0 }] }, 'application/json'],
      ['Hi.', 'text/plain'],
    ] as const) {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, answer, { 'content-type': type }));
      const reply = await post(key, named('listener', ['response_format', 'srt']));
      assert.deepEqual([reply.status, reply.error.code], [502, 'upstream_error']);
      assert.ok((await gateway.row(key)).cost_nanos >= 100_000);
    }
  });

  test('is no other format than those that OpenAI has, and those with their length pass unchanged', async () => {
    const { status, error } = await post(gateway.key(), named('listener', ['response_format', 'lrc']));
    assert.equal(status, 400);
    assert.equal(error.message, 'response_format: expected one of json, text, srt, verbose_json, vtt, diarized_json');
    for (const format of ['json', 'verbose_json', 'diarized_json']) {
      gateway.upstream.follow((call) => call.answer(200, VERBOSE));
      const reply = await post(gateway.key(), named('listener', ['response_format', format]));
      assert.equal(reply.text, JSON.stringify(VERBOSE));
      assert.equal(fieldOf((await gateway.upstream.call()).body, 'response_format'), format);
    }
  });

  for (const [what, fields, problem] of [
    [
      'subtitles of a model without segments',
      named('later', ['response_format', 'srt']),
      /^response_format: this model reports no segments for srt/,
    ],
    [
      'subtitles by tokens',
      named('scribe', ['response_format', 'vtt']),
      /^response_format: this model reports no segments/,
    ],
    [
      'times beside a format without them',
      named('listener', ['response_format', 'srt'], ['timestamp_granularities[]', 'word']),
      /^timestamp_granularities\[\]: expected verbose_json/,
    ],
  ] as const) {
    test(`is refused for ${what}`, async () => {
      const reply = await post(gateway.key(), fields);
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, problem);
    });
  }
});

describe('a file whose length its headers do not prove', () => {
  const inexact = (model: string, ...more: Fields): Fields => [['file', INEXACT], ['model', `fake/${model}`], ...more];

  test('is charged by verbose JSON where a second has a price, also for a client of JSON', async () => {
    for (const fields of [inexact('listener'), inexact('listener', ['response_format', 'json'])]) {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, VERBOSE));
      const reply = await post(key, fields);
      assert.equal(reply.text, JSON.stringify({ text: VERBOSE.text, usage: VERBOSE.usage }));
      assert.equal(reply.headers.get('content-type'), 'application/json');
      assert.equal(fieldOf((await gateway.upstream.call()).body, 'response_format'), 'verbose_json');
      assert.equal((await gateway.row(key)).cost_nanos, 372_600_000);
    }
  });

  for (const [what, model, file, heldSeconds] of [
    ['AAC in an M4A at the most frames that its bytes may be', 'listener', INEXACT, 119],
    ['AAC in an M4A at the most that the model takes', 'brief', INEXACT, 100],
    ['an MP4 in fragments at ten hours', 'listener', FRAGMENTED, 36_000],
    ['an MP4 in fragments at the most that the model takes', 'brief', FRAGMENTED, 100],
    ['a WAV of ADPCM at ten hours', 'listener', wav({ tag: 0x11, bits: 4 }, Buffer.alloc(1_000)), 36_000],
    [
      'half an hour of AAC in an M4A at ten hours',
      'listener',
      m4a({ samples: 77_520, sample: Buffer.alloc(186) }),
      36_000,
    ],
  ] as const) {
    test(`holds ${what}, and is charged by the report`, async () => {
      const key = gateway.key({ spendLimitNanos: 5_000_000_000n });
      let held = 0n;
      gateway.upstream.follow((call) => {
        held = gateway.heldNanos(key);
        call.answer(200, VERBOSE);
      });
      const reply = await post(key, [
        ['file', file],
        ['model', `fake/${model}`],
      ]);
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual([held, (await gateway.row(key)).cost_nanos], [BigInt(heldSeconds) * 100_000n, 372_600_000]);
    });
  }

  test('holds at OpenAI no more than its models for transcripts take', async () => {
    const key = gateway.key();
    let held = 0n;
    gateway.upstream.follow((call) => {
      held = gateway.heldNanos(key);
      call.answer(200, { text: 'Hi.' });
    });
    await post(key, [
      ['file', FRAGMENTED],
      ['model', 'fake/openai'],
    ]);
    assert.equal(held, BigInt(1_500 * 32 * 6_000 + 400 * 5_000));
  });

  test('is refused by the second where the model does not report how long it was', async () => {
    for (const fields of [inexact('later'), inexact('later', ['response_format', 'text'])]) {
      const reply = await post(gateway.key(), fields);
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, /^file: its length cannot be determined/);
    }
  });

  test('passes unchanged by the token', async () => {
    for (const model of ['scribe', 'given']) {
      gateway.upstream.follow((call) => call.answer(200, { text: 'Hi.' }));
      assert.equal((await post(gateway.key(), inexact(model))).status, 200);
      assert.equal(fieldOf((await gateway.upstream.call()).body, 'response_format'), undefined);
    }
  });
});

describe('a form is refused:', () => {
  for (const [what, fields, status, problem] of [
    ['no model', [['file', FILE]], 400, /^model: expected a string/],
    [
      'an unknown model before any other fault',
      [
        ['model', 'fake/nobody'],
        ['url', 'x'],
      ],
      404,
      /nobody/,
    ],
    ['no file', [['model', 'fake/listener']], 400, /^file: expected a file/],
    [
      'a text for a file',
      [
        ['model', 'fake/listener'],
        ['file', 'RIFF'],
      ],
      400,
      /^file: expected a file/,
    ],
    [
      'a file that is no sound',
      [
        ['model', 'fake/listener'],
        ['file', fixture('40x30.png')],
      ],
      400,
      /^file: it does not begin as a format of audio; send WAV, MP3, /,
    ],
    ['a file for a text', named('listener', ['prompt', FILE]), 400, /^prompt: expected a text, and no file/],
    ['a file elsewhere', named('listener', ['url', 'https://a.example/b.mp3']), 400, /^url: this gateway cannot see/],
    ['two models', named('listener', ['model', 'fake/scribe']), 400, /^Duplicate field in the form: "model"/],
    ['another spelling of a field', named('listener', ['Stream', 'true']), 400, /^Stream: differs from stream/],
    ['a stream that is neither', named('listener', ['stream', 'maybe']), 400, /^stream: expected true or false/],
    [
      'a model without a price',
      named('talker'),
      400,
      /^model: this model has no price for transcriptions; have per: { minute }, or audio_input set/,
    ],
  ] as const) {
    test(what, async () => {
      const reply = await post(gateway.key(), fields);
      assert.equal(reply.status, status);
      assert.match(reply.error.message, problem);
    });
  }

  test('JSON', async () => {
    const reply = await gateway.post(PATH, gateway.key(), '{"model":"fake/listener"}');
    assert.equal(reply.status, 400);
    assert.match(reply.error.message, /Expected multipart\/form-data/);
  });

  test('of a key without an account for it, and nothing is sent', async () => {
    const poor = await startTestGateway({
      provider: { models: { listener: { per: { minute: 0.006 } } } },
      credit: '0.0001',
    });
    try {
      const reply = await poor.request(PATH, { key: poor.key(), method: 'POST', ...(await formOf(BODY)) });
      assert.deepEqual([reply.status, reply.error.code], [402, 'insufficient_credit']);
      assert.equal(poor.upstream.calls.length, 0);
    } finally {
      await poor.stop();
    }
  });
});

test('what would happen to a form is explained, units and all', async () => {
  const { body } = await formOf(BODY);
  const explained = await gateway.explain(gateway.key(), body, PATH);
  assert.equal(explained.code, null, explained.message);
  const price = explained.steps.find(({ step }) => step === 'price');
  assert.match(price?.message ?? '', /^0\.000100 USD per second, from the config/);
  assert.deepEqual(price?.units, [{ text: 'per_second', units: 2, usd: '0.000100' }]);
  assert.equal(explained.steps.find(({ step }) => step === 'hold')?.hold_usd, '0.000200');
});
