/** The common part of dialects without generated text: no maximum, thinking, tools or cache. */
import { errorBody } from '../core/errors.ts';
import type { JsonBody } from '../wire/body.ts';
import { foldCase } from '../wire/names.ts';
import { DONE_EVENT, dataEvent, MAX_EVENT_BYTES } from '../wire/sse.ts';
import { audioBytesPerToken } from './audio-output.ts';
import { type Check, type Checks, caseVariant, firstProblem, foreignMaxima, refused } from './checks.ts';
import type { Dialect, InvalidRequest, ModelRequest } from './dialect.ts';
import { withFields } from './edit.ts';

/** Defaults for a dialect without streams. Only a failure of the gateway could end a stream. */
export const WITHOUT_TEXT = {
  headers: [],
  maximumField: undefined,
  maxEventBytes: MAX_EVENT_BYTES,
  edit: ({ body }, { model }) => withFields(body, new Map([['model', JSON.stringify(model)]])),
  startStream: () => ({
    judge: () => ({ kind: 'invalid' }),
    failure: (error) => dataEvent(errorBody(error)) + DONE_EVENT,
    completion: () => DONE_EVENT,
  }),
  errorBody,
} satisfies Partial<Dialect>;

/** Adds the checks of fields that none of these dialects has. */
export function checksWithoutText(own: Readonly<Record<string, Check>>): Checks {
  return Object.entries<Check>({ ...Object.fromEntries(foreignMaxima('no maximum')), ...own });
}

/** Refuses streaming. `what`: the answers, for the message. */
export function unstreamed(what: string): Check {
  return (value) => (value === false ? undefined : refused('stream', `${what} are not streamed`)(value, {}));
}

/** Returns the first problem of a body with these checks. */
export function bodyProblem({ fields, members, form }: JsonBody, checks: Checks): InvalidRequest | undefined {
  const actedOn = new Set(['model', ...checks.map(([name]) => name)]);
  const names = members.map(({ key }) => key);
  const listed = form === undefined ? undefined : listedField(names, actedOn);
  const problem = caseVariant('', names, actedOn) ?? listed ?? firstProblem(fields, checks);
  return problem === undefined ? undefined : { ok: false, problem };
}

/** Many hosts read `n[]` of a form as `n`. */
function listedField(names: readonly string[], actedOn: ReadonlySet<string>): string | undefined {
  const listed = names.find((name) => name.includes('[') && actedOn.has(foldCase(name.slice(0, name.indexOf('[')))));
  return listed && `${listed}: expected ${foldCase(listed.slice(0, listed.indexOf('[')))}, without brackets`;
}

/** Returns a valid request for a dialect without generated text. */
export function requestWithoutText(dialect: Dialect, body: JsonBody, model: string): ModelRequest {
  const { service_tier: serviceTier } = body.fields;
  return {
    dialect,
    body,
    model,
    stream: false,
    includeUsage: false,
    maxOutput: 0,
    choices: 1,
    serviceTier: typeof serviceTier === 'string' ? serviceTier : undefined,
    hiddenThinking: 0,
    asked: [],
    predictedTokens: 0,
    audioBytesPerToken: audioBytesPerToken(),
    cacheWrite: undefined,
    summarizesAbove: undefined,
    hostTools: [],
  };
}
