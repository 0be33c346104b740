/**
 * Attacks by images and audio in the dialects of text: a model that returns images without being asked, audio that is cached
 * or has no price, and reports that leave out what an answer holds.
 */
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import { pngOf, wavOf } from '../../support/media.ts';
import { type Attack, event, json, type RefusedAttack } from './attack.ts';

/** In nanodollars a token. */
const INPUT = 1_000;
const CACHED = 100;
const OUTPUT = 3_000;
const AUDIO = 4_000;
const CACHED_AUDIO = 400;
const SPOKEN = 12_000;
const IMAGE_READ = 2_000;
const IMAGE = 30_000;
const usd = (nanos: number) => nanos / 1_000;

const TEXT = { input: usd(INPUT), cached_input: usd(CACHED), output: usd(OUTPUT), context_window: 50_000 };
const DRAWING = { ...TEXT, image_output: usd(IMAGE), image_tokens: 1_000 };
const MODELS = {
  text: { ...TEXT, upstream: 'vendor-text' },
  /** Known by its name to return images. */
  painter: { ...DRAWING, upstream: 'gemini-2.5-flash-image' },
  unpriced: { ...TEXT, upstream: 'gemini-2.5-flash-image' },
  growing: { ...DRAWING, upstream: 'gemini-2.5-flash-image', hold_output: 10 },
  tiered: {
    ...DRAWING,
    upstream: 'gemini-2.5-flash-image',
    service_tiers: { priority: { input: usd(INPUT) * 2, output: usd(OUTPUT) * 2 } },
  },
  hearing: { ...TEXT, upstream: 'vendor-ears', audio_input: usd(AUDIO), audio_output: usd(SPOKEN) },
  reader: { ...TEXT, upstream: 'vendor-eyes', image_input: usd(IMAGE_READ), image_tokens: 1_000 },
  exact: { ...TEXT, upstream: 'vendor-ears', audio_input: usd(AUDIO), cached_audio_input: usd(CACHED_AUDIO) },
};
const google = { kind: 'gemini', models: MODELS };
const openai = { models: MODELS };

/** What Google bills for an image of 1,024 by 1,024 pixels. */
const IMAGE_TOKENS = 1_290;
const PROMPT = 10;
const IMAGE_BILL = PROMPT * INPUT + IMAGE_TOKENS * IMAGE;

const pixels = pngOf(1_024, 1_024).toString('base64');
const speech = wavOf(8_000, 60).toString('base64');
/** What Google makes of a minute of sound. */
const SPEECH_TOKENS = 1_920;

const said = (...parts: readonly object[]) => ({ contents: [{ role: 'user', parts }] });
const DRAW = said({ text: 'Draw a tree.' });
const asked = (model: string, fields: object = {}) => ({
  model: `fake/${model}`,
  messages: [{ role: 'user', content: 'Draw a tree.' }],
  ...fields,
});
const google_path = (model: string, method = 'generateContent') => `/v1beta/models/fake/${model}:${method}`;
const CHAT = '/v1/chat/completions';

const DRAWN = { parts: [{ text: 'A tree:' }, { inlineData: { mimeType: 'image/png', data: pixels } }] };
const GOOGLE_REPORT = {
  promptTokenCount: PROMPT,
  candidatesTokenCount: IMAGE_TOKENS,
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: IMAGE_TOKENS }],
  totalTokenCount: PROMPT + IMAGE_TOKENS,
};
const CHAT_REPORT = {
  prompt_tokens: PROMPT,
  completion_tokens: IMAGE_TOKENS,
  total_tokens: PROMPT + IMAGE_TOKENS,
  completion_tokens_details: { image_tokens: IMAGE_TOKENS },
};
const images = [{ type: 'image_url', index: 0, image_url: { url: `data:image/png;base64,${pixels}` } }];

const largeImage = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(3 * 1024 * 1024)}` } };

const candidate = (content: object) => ({ candidates: [{ index: 0, content, finishReason: 'STOP' }] });
const choice = (message: object) => ({ choices: [{ index: 0, message, finish_reason: 'stop' }] });

/** Google answers, whole or as a stream of one event. */
const googles =
  (usageMetadata: object | undefined, content: object = DRAWN) =>
  (call: UpstreamCall) => {
    const answer = { ...candidate(content), responseId: 'r', ...(usageMetadata && { usageMetadata }) };
    if (!call.path.includes('stream')) return call.answer(200, answer);
    call.stream();
    call.send(event(answer));
    return call.end();
  };

const chats =
  (usage: object | undefined, message: object = { content: 'A tree:', images }) =>
  (call: UpstreamCall) => {
    if (JSON.parse(call.body).stream !== true) return call.answer(200, { id: 'c', ...choice(message), usage });
    call.stream();
    call.send(event({ id: 'c', choices: [{ index: 0, delta: message, finish_reason: 'stop' }] }));
    if (usage !== undefined) call.send(event({ id: 'c', choices: [], usage }));
    call.send('data: [DONE]\n\n');
    return call.end();
  };

const responds = (usage: object, output: readonly object[]) => (call: UpstreamCall) =>
  call.answer(200, { id: 'resp_1', object: 'response', status: 'completed', output, usage });

/** Of a stream that its host breaks off. */
const breaksOff = (events: readonly object[]) => (call: UpstreamCall) => {
  call.stream();
  for (const each of events) call.send(event(each));
  call.reset();
};

const UNASKED: readonly Attack[] = [
  {
    tries: 'an image that Google returns unasked',
    provider: google,
    path: google_path('painter'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image that Google returns unasked in a stream',
    provider: google,
    path: google_path('painter', 'streamGenerateContent?alt=sse'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image unasked in a stream that is held for ten tokens at first',
    provider: google,
    path: google_path('growing', 'streamGenerateContent?alt=sse'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image although the request declares a maximum of one token',
    provider: google,
    path: google_path('painter'),
    send: json({ ...DRAW, generationConfig: { maxOutputTokens: 1 } }),
    bill: IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image in a service tier that has no price of its own for images',
    provider: google,
    path: google_path('tiered'),
    send: json({ ...DRAW, serviceTier: 'priority' }),
    bill: 2 * IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image that Google is asked for',
    provider: google,
    path: google_path('painter'),
    send: json({
      ...DRAW,
      generationConfig: { responseModalities: ['Text', 'Image'], imageConfig: { aspectRatio: '1:1' } },
    }),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image of which Google reports nothing',
    provider: google,
    path: google_path('painter'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    answer: googles(undefined),
  },
  {
    tries: 'an image whose tokens Google reports among those of text',
    provider: google,
    path: google_path('painter'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    answer: googles({ promptTokenCount: PROMPT, candidatesTokenCount: IMAGE_TOKENS }),
  },
  {
    tries: 'images that chat asks for by its modalities',
    provider: openai,
    path: CHAT,
    send: json(asked('painter', { modalities: ['image', 'text'] })),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: chats(CHAT_REPORT),
  },
  {
    tries: 'images unasked in a stream of chat',
    provider: openai,
    path: CHAT,
    send: json(asked('painter', { stream: true })),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: chats(CHAT_REPORT),
  },
  {
    tries: 'images unasked in a stream of chat that reports nothing',
    provider: openai,
    path: CHAT,
    send: json(asked('painter', { stream: true })),
    bill: IMAGE_BILL,
    answer: chats(undefined),
  },
  {
    tries: 'an image of three megabytes in a stream of chat that reports nothing',
    provider: openai,
    path: CHAT,
    send: json(asked('painter', { stream: true })),
    bill: IMAGE_BILL,
    // The most that is known of an image, and no text.
    most: 2_530 * IMAGE,
    answer: chats(undefined, { content: 'A tree:', images: [largeImage] }),
  },
  {
    tries: 'images in chat whose tokens are reported among those of text',
    provider: openai,
    path: CHAT,
    send: json(asked('painter')),
    bill: IMAGE_BILL,
    answer: chats({ prompt_tokens: PROMPT, completion_tokens: IMAGE_TOKENS }),
  },
  {
    tries: 'images in chat that a report leaves out',
    provider: openai,
    path: CHAT,
    send: json(asked('painter')),
    bill: IMAGE_BILL,
    answer: chats({ prompt_tokens: PROMPT, completion_tokens: 3 }),
  },
  {
    tries: 'an image that a stream was drawing when it broke off',
    provider: google,
    path: google_path('painter', 'streamGenerateContent?alt=sse'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    answer: breaksOff([{ candidates: [{ index: 0, content: { parts: [{ text: 'A tree:' }] } }], responseId: 'r' }]),
  },
  {
    tries: 'an image in whose event a stream of chat breaks off',
    provider: openai,
    path: CHAT,
    send: json(asked('painter', { stream: true })),
    bill: IMAGE_BILL,
    most: 2_530 * IMAGE,
    answer: (call) => {
      call.stream();
      call.send(event({ id: 'c', choices: [{ index: 0, delta: { images: [largeImage] } }] }).slice(0, 500_000));
      call.reset();
    },
  },
  {
    tries: 'an image for a client of chat at a host of Google',
    provider: google,
    path: CHAT,
    send: json(asked('painter')),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image for a client of responses at a host of Google',
    provider: google,
    path: '/v1/responses',
    send: json({ model: 'fake/painter', input: 'Draw a tree.' }),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image for a client of Google at a host of chat',
    provider: openai,
    path: google_path('painter'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: chats(CHAT_REPORT),
  },
  {
    tries: 'an image in a response that is asked for by its modalities',
    provider: openai,
    path: '/v1/responses',
    send: json({ model: 'fake/painter', input: 'Draw a tree.', modalities: ['image', 'text'] }),
    bill: IMAGE_BILL,
    most: IMAGE_BILL,
    answer: responds(
      {
        input_tokens: PROMPT,
        output_tokens: IMAGE_TOKENS,
        output_tokens_details: { image_tokens: IMAGE_TOKENS },
        total_tokens: PROMPT + IMAGE_TOKENS,
      },
      [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A tree.' }] }],
    ),
  },
  {
    tries: 'an image of a model that nobody knows to return any',
    provider: google,
    path: google_path('text'),
    send: json(DRAW),
    bill: IMAGE_BILL,
    isUnforeseen: true,
    answer: googles(GOOGLE_REPORT),
  },
  {
    tries: 'an image in chat of a model that nobody knows to return any, in a stream without a report',
    provider: openai,
    path: CHAT,
    send: json(asked('text', { stream: true })),
    bill: IMAGE_BILL,
    isUnforeseen: true,
    answer: chats(undefined),
  },
];

const HEARD = said({ inlineData: { mimeType: 'audio/wav', data: speech } }, { text: 'What is said?' });
const heardByGoogle = (more: object = {}) =>
  googles(
    {
      promptTokenCount: PROMPT + SPEECH_TOKENS,
      promptTokensDetails: [
        { modality: 'AUDIO', tokenCount: SPEECH_TOKENS },
        { modality: 'TEXT', tokenCount: PROMPT },
      ],
      candidatesTokenCount: 1,
      totalTokenCount: PROMPT + SPEECH_TOKENS + 1,
      ...more,
    },
    { parts: [{ text: 'Hi.' }] },
  );
const CACHED_REPORT = {
  cachedContentTokenCount: 1_900,
  cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 1_900 }],
};
const HEARING_BILL = PROMPT * INPUT + SPEECH_TOKENS * AUDIO + OUTPUT;
const CACHED_BILL = PROMPT * INPUT + 20 * AUDIO + 1_900 * CACHED_AUDIO + OUTPUT;

const INPUTS: readonly Attack[] = [
  {
    tries: 'cached audio at the price that it has',
    provider: google,
    path: google_path('exact'),
    send: json(HEARD),
    bill: CACHED_BILL,
    most: CACHED_BILL,
    answer: heardByGoogle(CACHED_REPORT),
  },
  {
    tries: 'cached audio without a price of its own, which is that of audio',
    provider: google,
    path: google_path('hearing'),
    send: json(HEARD),
    bill: HEARING_BILL,
    most: HEARING_BILL,
    answer: heardByGoogle(CACHED_REPORT),
  },
  {
    tries: 'cached audio that the host does not tell from cached text',
    provider: google,
    path: google_path('exact'),
    send: json(HEARD),
    bill: CACHED_BILL,
    answer: heardByGoogle({ cachedContentTokenCount: 1_900 }),
  },
  {
    tries: 'audio in a response',
    provider: openai,
    path: '/v1/responses',
    send: json({
      model: 'fake/hearing',
      input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: speech, format: 'wav' } }] }],
      max_output_tokens: 1,
    }),
    bill: SPEECH_TOKENS * AUDIO + OUTPUT,
    answer: responds(
      {
        input_tokens: SPEECH_TOKENS,
        input_tokens_details: { audio_tokens: SPEECH_TOKENS },
        output_tokens: 1,
        total_tokens: SPEECH_TOKENS + 1,
      },
      [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] }],
    ),
  },
  {
    tries: 'speech in a response',
    provider: openai,
    path: '/v1/responses',
    send: json({ model: 'fake/hearing', input: 'Hi.', modalities: ['audio', 'text'], max_output_tokens: 500 }),
    bill: 500 * SPOKEN,
    answer: responds(
      { input_tokens: 1, output_tokens: 500, output_tokens_details: { audio_tokens: 500 }, total_tokens: 501 },
      [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] }],
    ),
  },
  ...[CHAT, '/v1/responses'].map((path) => ({
    tries: `an image with a price of its own as input of ${path}`,
    provider: openai,
    path,
    send: json(
      path === CHAT
        ? asked('reader', {
            messages: [
              { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] },
            ],
            max_tokens: 1,
          })
        : {
            model: 'fake/reader',
            input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }] }],
            max_output_tokens: 1,
          },
    ),
    bill: 1_000 * IMAGE_READ + OUTPUT,
    answer: (call: UpstreamCall) =>
      path === CHAT
        ? chats(
            {
              prompt_tokens: 1_000,
              prompt_tokens_details: { image_tokens: 1_000 },
              completion_tokens: 1,
              total_tokens: 1_001,
            },
            { content: 'A' },
          )(call)
        : responds(
            {
              input_tokens: 1_000,
              input_tokens_details: { image_tokens: 1_000 },
              output_tokens: 1,
              total_tokens: 1_001,
            },
            [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A' }] }],
          )(call),
  })),
  {
    tries: 'an image with a price of its own that nobody reports',
    provider: openai,
    path: CHAT,
    send: json(
      asked('reader', {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] }],
        max_tokens: 1,
      }),
    ),
    bill: 1_000 * IMAGE_READ + OUTPUT,
    answer: chats(undefined, { content: 'A' }),
  },
];

const ogg = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(2_000, 1)]).toString('base64');
const film = Buffer.concat([Buffer.from('\0\0\0\x18ftypisom', 'latin1'), Buffer.alloc(2_000, 1)]).toString('base64');
const inChat = (part: object) => asked('text', { messages: [{ role: 'user', content: [part] }] });

export const REFUSED_MODALITIES: readonly RefusedAttack[] = [
  ...[
    ['a WAV', { type: 'input_audio', input_audio: { data: speech, format: 'wav' } }],
    ['an Ogg', { type: 'input_audio', input_audio: { data: ogg, format: 'ogg' } }],
    [
      'data of no known kind in the place of audio',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    ],
    ['an Ogg as a file', { type: 'file', file: { file_data: `data:application/octet-stream;base64,${ogg}` } }],
    ['a film', { type: 'video_url', video_url: { url: `data:video/mp4;base64,${film}` } }],
    ['a film as a file', { type: 'file', file: { file_data: `data:;base64,${film}` } }],
  ].map(([what, part]) => ({
    tries: `audio without a price: ${what} in chat`,
    provider: openai,
    path: CHAT,
    send: json(inChat(part as object)),
  })),
  {
    tries: 'audio without a price in a response',
    provider: openai,
    path: '/v1/responses',
    send: json({
      model: 'fake/text',
      input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: speech, format: 'wav' } }] }],
    }),
  },
  ...['audio/wav', 'audio/ogg', 'video/mp4'].map((mimeType) => ({
    tries: `audio without a price: ${mimeType} at a host of Google`,
    provider: google,
    path: google_path('text'),
    send: json(said({ inlineData: { mimeType, data: mimeType === 'audio/wav' ? speech : film } })),
  })),
  {
    tries: 'audio without a price in the result of a function',
    provider: google,
    path: google_path('text'),
    send: json(
      said({
        functionResponse: { name: 'f', response: {}, parts: [{ inlineData: { mimeType: 'audio/wav', data: speech } }] },
      }),
    ),
  },
  {
    tries: 'speech without a price in chat',
    provider: openai,
    path: CHAT,
    send: json(asked('text', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } })),
  },
  {
    tries: 'speech without a price at a host of Google',
    provider: google,
    path: google_path('text'),
    send: json({ ...DRAW, generationConfig: { responseModalities: ['AUDIO'] } }),
  },
  ...[['image'], ['Image', 'text'], ['video'], 'image', { image: true }, [7]].map((modalities) => ({
    tries: `answers without a price in chat, by the modalities ${JSON.stringify(modalities)}`,
    provider: openai,
    path: CHAT,
    send: json(asked('text', { modalities })),
  })),
  {
    tries: 'answers without a price in a response',
    provider: openai,
    path: '/v1/responses',
    send: json({ model: 'fake/text', input: 'Draw.', modalities: ['image'] }),
  },
  ...[['IMAGE'], ['Image', 'Text'], ['VIDEO'], 'IMAGE', [2]].map((responseModalities) => ({
    tries: `answers without a price at a host of Google, by the modalities ${JSON.stringify(responseModalities)}`,
    provider: google,
    path: google_path('text'),
    send: json({ ...DRAW, generationConfig: { responseModalities } }),
  })),
  {
    tries: 'a setting of images at a model without a price for them',
    provider: google,
    path: google_path('text'),
    send: json({ ...DRAW, generationConfig: { imageConfig: { imageSize: '4K' } } }),
  },
  {
    tries: 'a number of images in the settings of images',
    provider: google,
    path: google_path('painter'),
    send: json({ ...DRAW, generationConfig: { imageConfig: { numberOfImages: 4 } } }),
  },
  {
    tries: 'an image for a client of messages, which would pay for it and not get it',
    provider: google,
    path: '/v1/messages',
    send: json({ ...asked('painter'), max_tokens: 100 }),
  },
  ...[
    { provider: google, path: google_path('unpriced'), body: DRAW },
    {
      provider: google,
      path: google_path('unpriced'),
      body: { ...DRAW, generationConfig: { responseModalities: ['TEXT'] } },
    },
    { provider: openai, path: CHAT, body: asked('unpriced') },
    { provider: google, path: CHAT, body: asked('unpriced') },
    { provider: openai, path: '/v1/responses', body: { model: 'fake/unpriced', input: 'Draw.' } },
  ].map(({ provider, path, body }, index) => ({
    tries: `a model that returns images and has no price for them (${index + 1})`,
    provider,
    path,
    send: json(body),
  })),
];

export const MODALITY_ATTACKS = [...UNASKED, ...INPUTS];
