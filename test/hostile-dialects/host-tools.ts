/** The tools that a truthful host runs itself: which ones a request has, how often they are called, and what that costs. */
import { type Fields, folded, type Reading } from '../hostile/names.ts';
import type { Conduct, DialectName } from './dialogue.ts';

/** A call of a tool. */
export interface HostCall {
  /** By the name that calls have in answers. */
  readonly name: string;
  /** Nanodollars. */
  readonly nanos: number;
  /** What an answer says of it besides. */
  readonly shown: Fields;
}

const CENT = 10_000_000;
const SEARCH = CENT;
const PREVIEW_SEARCH = 2.5 * CENT;
/** For a container, which all calls of a request share, by its memory. */
const CONTAINERS: Readonly<Record<string, number>> = {
  '1g': 3 * CENT,
  '4g': 12 * CENT,
  '16g': 48 * CENT,
  '64g': 192 * CENT,
};
/** For a picture, by its quality: of 1,024 by 1,024 pixels, and of more. */
const PICTURES: Readonly<Record<string, readonly [square: number, larger: number]>> = {
  low: [1.1 * CENT, 1.6 * CENT],
  medium: [4.2 * CENT, 6.3 * CENT],
  high: [16.7 * CENT, 25 * CENT],
};
const SQUARE = '1024x1024';
/** What a tool costs where nobody says more. */
const ORDINARY_CALL = CENT;

/** Tools that the client runs, or that cost nothing beside their tokens. */
const FREE: ReadonlySet<unknown> = new Set(
  'function custom namespace local_shell apply_patch computer tool_search bash text_editor memory'.split(' '),
);

/** Nanodollars for the first call of a tool, and for each one after it. */
function pricesOf(name: string, tool: Fields): readonly [first: number, next: number] {
  const each = (nanos: number) => [nanos, nanos] as const;
  switch (name) {
    case 'web_search':
      return each(SEARCH);
    case 'web_search_preview':
      return each(PREVIEW_SEARCH);
    case 'web_fetch':
      return each(0);
    case 'file_search':
      return each(0.25 * CENT);
    case 'code_interpreter': {
      const { memory_limit: memory = '1g' } = (tool.container ?? {}) as { memory_limit?: string | null };
      return [CONTAINERS[memory ?? '1g'] ?? 0, 0];
    }
    case 'image_generation': {
      // Of its own accord a model makes the best that there is.
      const [square, larger] = PICTURES[String(tool.quality ?? 'auto')] ?? (PICTURES.high as readonly [number, number]);
      return each(tool.size === SQUARE ? square : larger);
    }
    default:
      return each(ORDINARY_CALL);
  }
}

const usd = (nanos: number) => nanos / 1e9;
/** Tokens that a call may bring in, as the config says. */
const FOUND_TOKENS = 30_000;
const memories = Object.entries(CONTAINERS).filter(([memory]) => memory !== '64g');
const priced = (nanos: number, tokens: number) => ({ call: usd(nanos), tokens });

/** The prices of the tools, as the config has them. It has none for the largest container. */
export const TOOL_TERMS: Fields = {
  web_search: priced(SEARCH, FOUND_TOKENS),
  web_search_preview: priced(PREVIEW_SEARCH, FOUND_TOKENS),
  web_fetch: priced(0, FOUND_TOKENS),
  file_search: priced(0.25 * CENT, FOUND_TOKENS),
  code_interpreter: {
    ...priced(CONTAINERS['1g'] as number, FOUND_TOKENS),
    variants: memories.map(([memory_limit, nanos]) => ({ memory_limit, call: usd(nanos) })),
  },
  image_generation: {
    ...priced(25 * CENT, FOUND_TOKENS),
    variants: Object.entries(PICTURES).map(([quality, [square]]) => ({ quality, size: SQUARE, call: usd(square) })),
  },
};

/** This model calls tools whatever a request says. */
export const COMPOUND_MODEL = 'groq/compound';
/** A request without a maximum of calls gets this many at most. */
const MOST_CALLS = 10;

/** A tool of the host that a request has. */
interface Declared {
  readonly name: string;
  readonly tool: Fields;
  readonly most: number;
}

/** What a host reads of a request to know which of its tools it may call. */
export interface Calling {
  readonly dialect: DialectName;
  readonly reading: Reading;
  readonly fields: Fields;
}

/** The calls that a model makes: of the dearest tools first, as a sender would want it. */
export function callsOf(calling: Calling, { calls, opened }: Pick<Conduct, 'calls' | 'opened'>): readonly HostCall[] {
  const made: HostCall[] = [];
  let left = calling.dialect === 'responses' ? Number(calling.fields.max_tool_calls ?? Infinity) : Infinity;
  const tools = declaredIn(calling).toSorted((a, b) => pricesOf(b.name, b.tool)[0] - pricesOf(a.name, a.tool)[0]);
  for (const { name, tool, most } of tools) {
    const [first, next] = pricesOf(name, tool);
    const count = Math.min(calls, most, left);
    left -= count;
    const of = (index: number) => ({ name: name.replace(/_preview$/, ''), nanos: index === 0 ? first : next });
    for (let index = 0; index < count; index++) made.push({ ...of(index), shown: shownOf(name) });
    if (name !== 'web_search' || count === 0) continue;
    // A page that a model opens is shown as a search, and is billed as none.
    const pages = Math.min(opened, most - count, left);
    left -= pages;
    for (let index = 0; index < pages; index++) made.push({ name, nanos: 0, shown: OPENED });
  }
  return made;
}

const OPENED = { action: { type: 'open_page', url: 'https://example.org/a' } };

function shownOf(name: string): Fields {
  if (name === 'code_interpreter') return { container_id: 'cntr_1', code: '' };
  return name.startsWith('web_search') ? { action: { type: 'search', query: 'a', queries: ['a'] } } : {};
}

function declaredIn({ dialect, reading, fields }: Calling): readonly Declared[] {
  const tools = toolsIn(fields).map((tool) => (reading === 'go' ? foldedNames(tool) : tool));
  if (dialect === 'chat') return inChat(fields, tools);
  return tools.flatMap((tool) => {
    const name = String(tool.type ?? 'custom').replace(/_(?:\d{8}|\d{4}_\d{2}_\d{2})$/, '');
    if (FREE.has(name)) return [];
    return [{ name, tool, most: Number(tool.max_uses ?? MOST_CALLS) }];
  });
}

/** Those of the request, and those that items of its input add. */
function toolsIn({ tools, input }: Fields): readonly Fields[] {
  const added = (Array.isArray(input) ? input : []).map((item) => item.tools);
  return [tools, ...added].flatMap((each) => (Array.isArray(each) ? (each as Fields[]) : []));
}

/** Of several names that differ by case alone, the last one counts. */
function foldedNames(object: Fields): Fields {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [folded(name), value]));
}

/** Fields by which hosts of chat switch on tools of their own. */
export const SWITCHES: ReadonlySet<string> = new Set(
  'search_parameters enable_search web_search_options web_search plugins compound_custom extra_body google data_sources enable_enhancement'.split(
    ' ',
  ),
);

function inChat(fields: Fields, tools: readonly Fields[]): readonly Declared[] {
  const switched = Object.keys(fields).filter((name) => SWITCHES.has(name));
  const typed = tools.map(({ type }) => String(type ?? 'function')).filter((type) => !FREE.has(type));
  const own = fields.model === COMPOUND_MODEL ? ['compound'] : [];
  // Nothing in this format bounds calls or shows them: a price is for all that a request makes.
  return [...switched, ...typed, ...own].map((name) => {
    const tool = name === 'web_search_options' ? 'web_search' : name;
    return { name: tool, tool: {}, most: 1 };
  });
}
