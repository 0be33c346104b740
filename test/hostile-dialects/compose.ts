/**
 * Composes attacks in the dialects: where text, pictures and marks of the cache stand, what the
 * request says of its price, when its client leaves, and when and how its host reports.
 */
import { type Composition, jsonLeave, settingsFor, textsFor } from '../hostile/compose.ts';
import { LEAVING_POINTS, type LeavingPoint } from '../hostile/conversation.ts';
import type { Fields } from '../hostile/names.ts';
import { DEFAULT_OUTPUT } from '../hostile/site.ts';
import { ALL_ALPHABETS } from '../hostile/texts.ts';
import { piecesFor } from '../hostile/writing.ts';
import type { Random } from '../support/random.ts';
import { ATTACHMENT_PLACES } from './attacks/attachments.ts';
import { CACHE_PLACES, CONTROLS } from './attacks/caches.ts';
import { TEXT_PLACES } from './attacks/estimates.ts';
import { THINKING } from './attacks/leaving.ts';
import { OWN_SPELLINGS, SPELLINGS } from './attacks/names.ts';
import { search } from './attacks/prices.ts';
import type { Conduct, Report } from './dialogue.ts';
import type { ModelName } from './pricing.ts';
import { ALL, asks, type Direction, MAXIMA, providerOf, type Request, shown, user } from './requests.ts';

const CHAT: Direction = { client: 'chat', host: 'chat' };
const DIRECTIONS: readonly Direction[] = [CHAT, ...ALL];

/** Models with terms of their own are in three attacks of ten. */
const SPECIAL_MODELS: readonly ModelName[] = ['growing', 'tooled', 'caching', 'long'];
/** With a maximum of another dialect these are refused. */
const FOREIGN_MAXIMA = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_tokens_to_sample'];
const DECLARED = [1, 7, DEFAULT_OUTPUT - 1, DEFAULT_OUTPUT, 200, 350, 900, 5_000];
/** Most tokens that a model is asked to write. */
const MOST_WRITTEN = 900;
const REPORTS: readonly Report[] = [
  ...(['end', 'end', 'end', 'late', 'each event', 'early', 'never'] as const),
  ...[-1, 1.5, 1e12, '7'].map((impossible) => ({ impossible })),
];

/** A request as it is being composed. */
interface Draft {
  readonly direction: Direction;
  readonly model: ModelName;
  readonly isStream: boolean;
  readonly leaves: LeavingPoint;
  /** The maximum that it declares, if any. */
  readonly maximum: number | undefined;
  /** Whether it asks for thinking. */
  readonly thinks: boolean;
}

export class DialectComposer {
  readonly #texts: readonly string[];

  constructor(random: Random) {
    this.#texts = textsFor(random);
  }

  compose(random: Random): Composition<Request> {
    const tricks: string[] = [];
    const direction: Direction = { ...random.pick(DIRECTIONS), reading: random.chance(0.3) ? 'go' : 'exact' };
    const model = random.chance(0.3) ? random.pick(SPECIAL_MODELS) : 'cheap';
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
    for (const [kind, places] of [
      ['text', TEXT_PLACES[client]],
      ['attachment', ATTACHMENT_PLACES[client]],
    ] as const) {
      if (!random.chance(kind === 'text' ? 0.5 : 0.15)) continue;
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

interface Trick {
  readonly name: string;
  readonly chance: number;
  applies(draft: Draft): boolean;
  more(draft: Draft, random: Random): Fields;
}

const isNative = ({ direction: { client, host } }: Draft) => client === host;

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
    name: 'search',
    chance: 0.5,
    applies: (draft) => isNative(draft) && draft.model === 'tooled' && draft.direction.client !== 'chat',
    more: ({ direction: { client } }, random) => searchIn(client, random),
  },
  {
    name: 'service_tier',
    chance: 0.4,
    applies: ({ model }) => model === 'tooled',
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
    more: ({ direction: { client } }) => THINKING[client],
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

function searchIn(client: Direction['client'], random: Random): Fields {
  if (client === 'messages') return { tools: [{ ...search, ...(random.chance(0.7) && { max_uses: 3 }) }] };
  return { tools: [{ type: 'web_search' }], ...(random.chance(0.7) && { max_tool_calls: 3 }) };
}

function conductFor(draft: Draft, random: Random): Partial<Conduct> {
  const { isStream, leaves, maximum, thinks, direction } = draft;
  const field = random.pick(fieldsOf(draft, random));
  const isShown = field !== 'thinking' || thinks || direction.client === direction.host;
  const alphabet = random.pick(ALL_ALPHABETS);
  const report = random.pick(REPORTS);
  const tokens = random.pick(isShown ? [1, 20, DEFAULT_OUTPUT, 250, MOST_WRITTEN] : [1, 20, DEFAULT_OUTPUT]);
  const most = Math.min(tokens, maximum ?? tokens);
  const canHide = maximum !== undefined && maximum > most && isHiddenReported(draft, report);
  return {
    alphabet,
    field,
    tokens: most,
    hidden: canHide && random.chance(0.5) ? random.between(1, maximum - most) : 0,
    report,
    // A hold cannot grow within an event, so none is longer than a step.
    piecesAtOnce: piecesFor(
      alphabet,
      isShown ? random.pick([1, DEFAULT_OUTPUT / 4, DEFAULT_OUTPUT / 2]) : DEFAULT_OUTPUT / 2,
    ),
    // Of a stream that is left on its arrival nobody has seen any search.
    searches: isStream && leaves === 'arrival' ? 0 : random.pick([0, 1, 3, 10]),
  };
}

/** A host waits for a client that reads nothing, such as thinking that it has not asked for. */
function fieldsOf({ thinks, direction: { client, host } }: Draft, random: Random): readonly Conduct['field'][] {
  const isShown = thinks || client === host || random.chance(0.1);
  return isShown ? ['text', 'call', 'thinking'] : ['text', 'call'];
}

/** Whether thinking that is never sent is reported: nobody else knows of it. */
function isHiddenReported({ direction, model, isStream, leaves }: Draft, report: Report): boolean {
  // A stream whose hold may grow can be cut before its report.
  if (model === 'growing' || (report !== 'end' && report !== 'late')) return false;
  return !isStream || leaves === 'never' || (leaves === 'finish reason' && direction.host === 'messages');
}
