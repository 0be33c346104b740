/**
 * Composes attacks in the dialects: where text, files and marks of the cache stand, what is named
 * that the host fetches, which of its tools it runs, what the request says of its price, when its
 * client leaves, and what its host does.
 */
import { type Composition, jsonLeave, settingsFor, textsFor } from '../hostile/compose.ts';
import { LEAVING_POINTS } from '../hostile/conversation.ts';
import type { Fields } from '../hostile/names.ts';
import { DEFAULT_OUTPUT } from '../hostile/site.ts';
import type { Random } from '../support/random.ts';
import { ATTACHMENT_PLACES } from './attacks/attachments.ts';
import { CACHE_PLACES, CONTROLS } from './attacks/caches.ts';
import { TEXT_PLACES } from './attacks/estimates.ts';
import { THINKING } from './attacks/leaving.ts';
import { OWN_SPELLINGS, SPELLINGS } from './attacks/names.ts';
import { conductFor, type Draft, isNative, isSpeaking } from './conduct.ts';
import type { DialectName } from './dialogue.ts';
import { FILE_PLACES, PDF_PLACES, PICTURE_PLACES, SOUND_PLACES } from './places/packed.ts';
import { REFERENCE_PLACES } from './places/references.ts';
import { SWITCH_PLACES } from './places/switches.ts';
import type { Place } from './places/texts.ts';
import { TOOL_PLACES } from './places/tools.ts';
import { MODELS, type ModelName } from './pricing.ts';
import { ALL, asks, type Direction, MAXIMA, providerOf, type Request, shown, user } from './requests.ts';

const CHAT: Direction = { client: 'chat', host: 'chat' };
const DIRECTIONS: readonly Direction[] = [CHAT, ...ALL];

/** Models with terms of their own are in half of the attacks. */
const SPECIAL_MODELS = (Object.keys(MODELS) as ModelName[]).filter((name) => name !== 'cheap');
/** With a maximum of another dialect these are refused. */
const FOREIGN_MAXIMA = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_tokens_to_sample'];
const DECLARED = [1, 7, DEFAULT_OUTPUT - 1, DEFAULT_OUTPUT, 200, 350, 900, 5_000];
export class DialectComposer {
  readonly #texts: readonly string[];

  constructor(random: Random) {
    this.#texts = textsFor(random);
  }

  compose(random: Random): Composition<Request> {
    const tricks: string[] = [];
    const direction: Direction = { ...random.pick(DIRECTIONS), reading: random.chance(0.3) ? 'go' : 'exact' };
    const model = random.chance(0.5) ? random.pick(SPECIAL_MODELS) : 'cheap';
    tricks.push(shown(direction), model);
    const isRace = random.chance(0.4);
    const template = this.#request(direction, model, random, tricks);
    const count = isRace ? random.between(2, 6) : random.between(1, 3);
    const requests = Array.from({ length: count }, () =>
      random.chance(0.7) ? template : this.#request(direction, model, random, tricks),
    );
    const limits = settingsFor(`${providerOf(direction)}/cheap`, random, tricks);
    // What a stream may write beyond its first hold is not reserved in the window.
    const { tpm: _, ...rest } = limits;
    return { settings: model === 'growing' ? { ...rest, tpm: 1_000_000_000 } : limits, requests, isRace, tricks };
  }

  #request(direction: Direction, model: ModelName, random: Random, tricks: string[]): Request {
    const isStream = random.chance(0.6);
    const point = random.chance(0.5) ? random.pick(LEAVING_POINTS) : 'never';
    const leaves = isStream ? point : jsonLeave(point);
    const maximum = random.chance(0.7) ? random.pick(DECLARED) : undefined;
    const draft = { direction, model, isStream, leaves, maximum, thinks: random.chance(0.3) };
    const conduct = conductFor(draft, random);
    tricks.push(isStream ? 'stream' : 'JSON', `leaves: ${leaves}`, `report: ${JSON.stringify(conduct.report)}`);
    const body = asks(direction, this.#fields(draft, random, tricks), model);
    return { client: direction.client, body, conduct, leaves };
  }

  #fields(draft: Draft, random: Random, tricks: string[]): Fields {
    const { direction, isStream, maximum } = draft;
    const { client } = direction;
    const fields: Fields = { ...user(client, random.pick(this.#texts)) };
    for (const [kind, chance, places] of placesFor(draft)) {
      if (!random.chance(chance)) continue;
      const [where, more] = random.pick(places);
      tricks.push(`${kind}: ${where}`);
      Object.assign(fields, more);
    }
    for (const { name, chance, applies, more } of TRICKS) {
      if (!random.chance(chance) || !applies(draft)) continue;
      tricks.push(name);
      Object.assign(fields, more(draft, random));
    }
    if (isStream) fields.stream = true;
    if (maximum !== undefined) fields[MAXIMA[client]] = maximum;
    return fields;
  }
}

/** What a request may hold or name, and in which share of requests it does. */
function placesFor({ direction: { client }, model }: Draft): readonly (readonly [string, number, readonly Place[]])[] {
  const isSeeing = SEEING_MODELS.has(model);
  return [
    ['text', 0.5, TEXT_PLACES[client]],
    ['attachment', 0.15, ATTACHMENT_PLACES[client]],
    ['named', model === 'fetching' ? 0.5 : 0.03, REFERENCE_PLACES[client]],
    ['PDF', model === 'windowless' ? 0.5 : 0.03, [PDF_PLACES[client]]],
    ['file', 0.03, FILE_PLACES[client]],
    ['pictures', isSeeing ? 0.6 : 0.03, PICTURE_PLACES[client]],
    ['sound', model === 'speaking' || model === 'attentive' ? 0.4 : 0.02, client === 'chat' ? SOUND_PLACES : NONE],
    ['tool', model === 'tooled' ? 0.6 : 0.02, TOOL_PLACES[client]],
  ];
}

const SEEING_MODELS: ReadonlySet<ModelName> = new Set(['tiles', 'patches', 'unsaid', 'boundless']);
const NONE: readonly Place[] = [['nowhere', {}]];

interface Trick {
  readonly name: string;
  readonly chance: number;
  applies(draft: Draft): boolean;
  more(draft: Draft, random: Random): Fields;
}

const TRICKS: readonly Trick[] = [
  {
    name: 'cache_control',
    chance: 0.3,
    applies: (draft) => isNative(draft) && draft.direction.client === 'messages',
    more: (_, random) => random.pick(CACHE_PLACES)[1]({ cache_control: random.pick(CONTROLS) }),
  },
  {
    name: 'prompt_cache_key',
    chance: 0.5,
    applies: ({ direction: { client }, model }) => client === 'responses' && model === 'caching',
    more: () => ({ prompt_cache_key: 'a' }),
  },
  {
    name: 'a switch in another case',
    chance: 0.03,
    applies: ({ direction: { client, reading } }) => client === 'chat' && reading === 'go',
    more: (_, random) => inCapitals(random.pick(SWITCH_PLACES)[1]),
  },
  {
    name: 'a prediction',
    chance: 0.05,
    applies: ({ direction: { client } }) => client === 'chat',
    more: (_, random) => ({ prediction: { type: 'content', content: 'one two '.repeat(random.between(1, 500)) } }),
  },
  {
    name: 'speech',
    chance: 0.8,
    applies: (draft) => isSpeaking(draft),
    more: () => ({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } }),
  },
  {
    name: 'modalities',
    chance: 0.1,
    applies: () => true,
    more: (_, random) => ({ modalities: random.pick([['text'], ['text', 'image'], ['IMAGE'], ['video'], 'image']) }),
  },
  {
    name: 'service_tier',
    chance: 0.4,
    applies: ({ model }) => model === 'tooled' || model === 'tiered',
    more: (_, random) => ({ service_tier: random.pick(['priority', 'flex', 'auto']) }),
  },
  {
    name: 'service_tier without a price',
    chance: 0.02,
    applies: () => true,
    more: (_, random) => ({ service_tier: random.pick(['priority', 'Priority', 'fast']) }),
  },
  {
    name: 'thinking',
    chance: 1,
    applies: ({ thinks }) => thinks,
    more: ({ direction: { client } }, random) => random.pick(ASKING[client]),
  },
  {
    name: 'hints that a translation leaves out',
    chance: 0.1,
    applies: (draft) => !isNative(draft) && draft.direction.client === 'chat',
    more: () => ({
      verbosity: 'low',
      metadata: { a: 'one two '.repeat(500) },
      response_format: { type: 'json_object' },
    }),
  },
  {
    name: 'foreign maximum',
    chance: 0.03,
    applies: () => true,
    more: (_, random) => ({ [random.pick(FOREIGN_MAXIMA)]: random.pick(DECLARED) }),
  },
  {
    name: 'spelling',
    chance: 0.1,
    applies: ({ direction: { reading } }) => reading === 'go',
    more: ({ direction: { client } }, random) =>
      Object.fromEntries([random.pick([...SPELLINGS, ...OWN_SPELLINGS[client]])]),
  },
];

/** How a request asks for thinking. */
const ASKING: Readonly<Record<DialectName, readonly Fields[]>> = {
  chat: [
    { reasoning_effort: 'high' },
    { reasoning_effort: 'low' },
    THINKING.messages,
    { thinking: { type: 'adaptive' } },
  ],
  messages: [
    THINKING.messages,
    { thinking: { type: 'adaptive' } },
    { thinking: { type: 'adaptive', display: 'omitted' } },
  ],
  responses: [THINKING.responses, { reasoning: { effort: 'low' } }],
};

/** Fields with names that only a host that reads them without case knows. */
function inCapitals(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toUpperCase(), value]));
}
