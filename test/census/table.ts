/** The tables of the census by format, and the names that the libraries have for each. */
import { type Names, readNames } from './names.ts';
import { Table } from './rows.ts';
import { CHAT_ANSWER, CHAT_REQUEST } from './tables/chat.ts';
import { EMBEDDINGS_ANSWER, EMBEDDINGS_REQUEST } from './tables/embeddings.ts';
import { COUNT_TOKENS_ANSWER, MESSAGES_ANSWER } from './tables/messages-answer.ts';
import { MESSAGES_REQUEST } from './tables/messages-request.ts';
import { RESPONSES_ANSWER } from './tables/responses-answer.ts';
import { RESPONSES_REQUEST } from './tables/responses-request.ts';
import type { Types } from './types.ts';

export type Format = 'chat' | 'responses' | 'embeddings' | 'messages' | 'count_tokens';

/** What requests, or answers and the events of streams, can hold in a format. */
export interface Place {
  readonly format: Format;
  readonly title: string;
  readonly isRequest: boolean;
  readonly table: Table;
  /** The members of `Libraries` that have its names. */
  readonly roots: readonly string[];
}

const messagesRequest = new Table(MESSAGES_REQUEST);

export const PLACES: readonly Place[] = [
  request('chat', 'Chat completions', new Table(CHAT_REQUEST)),
  answer('chat', 'Chat completions', new Table(CHAT_ANSWER), 'event'),
  request('responses', 'Responses', new Table(RESPONSES_REQUEST)),
  answer('responses', 'Responses', new Table(RESPONSES_ANSWER), 'event'),
  request('messages', 'Messages', messagesRequest),
  answer('messages', 'Messages', new Table(MESSAGES_ANSWER), 'event'),
  request('embeddings', 'Embeddings', new Table(EMBEDDINGS_REQUEST)),
  answer('embeddings', 'Embeddings', new Table(EMBEDDINGS_ANSWER)),
  // A request to count has what one to answer has, and less.
  request('count_tokens', 'Counting tokens', messagesRequest),
  answer('count_tokens', 'Counting tokens', new Table(COUNT_TOKENS_ANSWER)),
];

function request(format: Format, title: string, table: Table): Place {
  return { format, title, isRequest: true, table, roots: [`${format} request`] };
}

function answer(format: Format, title: string, table: Table, event?: 'event'): Place {
  const roots = [`${format} answer`, ...(event === undefined ? [] : [`${format} event`])];
  return { format, title, isRequest: false, table, roots };
}

/** The names of a place, apart for each of its roots: an answer says some things in other ways than an event. */
export type Named = ReadonlyMap<Place, readonly Names[]>;

/** Reads the names of all places. `types`: of this folder; they are read on when a name is said. */
export function readLibraries(types: Types): Named {
  const libraries = types.fieldsOf(types.exported('libraries.ts', 'Libraries'));
  return new Map(PLACES.map((place) => [place, place.roots.map((root) => namesIn(place, root))]));

  function namesIn({ table, isRequest }: Place, root: string): Names {
    const tuple = libraries.find(({ name }) => name === root);
    if (tuple === undefined) throw new Error(`no such root: ${root}`);
    return readNames(types, types.elementsOf(tuple.type), (name) => table.isWhole(name), isRequest);
  }
}
