/**
 * Forecasts the handling of a body, step by step. Calls the same functions as the pipeline, in the same order, but takes no
 * hold, no entry of a window and no turn of an upstream.
 */
import type { Catalog, InactiveModel } from '../catalog/catalog.ts';
import { unmarkedName } from '../catalog/long-context.ts';
import type { DialectName } from '../core/dialects.ts';
import { type ClientError, NOT_FORWARDED, statusOf } from '../core/errors.ts';
import {
  type ExplainedStep,
  type ExplainQuestion,
  type Explanation,
  NOT_REACHED,
  type StepStatus,
} from '../core/explanation.ts';
import { newId } from '../core/ids.ts';
import { counted } from '../core/plural.ts';
import { printableName } from '../core/printable.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import { guessDialect } from '../dialects/guess.ts';
import { INVALID_API_KEY } from '../http/authorization.ts';
import { bodyTooLarge } from '../http/body.ts';
import { addressOf, routeOf } from '../http/routes.ts';
import {
  type AdmissionForecast,
  type KeyStanding,
  type Ledger,
  LedgerUnavailable,
  type Refusal,
} from '../ledger/ledger.ts';
import type { Provider } from '../upstream/provider.ts';
import { readJsonBody } from '../wire/body.ts';
import {
  checkSteps,
  estimateStep,
  holdStep,
  keyStep,
  type LevelName,
  levelOff,
  levelWithout,
  priceStep,
  requestStep,
  routeStep,
} from './explain-steps.ts';
import { bringIn, type Keeper } from './kept.ts';
import { boundByStanding } from './leash.ts';
import { admissionRequest, outputCap, type Permitted, type Plan, type Plans, plansFor } from './plan.ts';
import { errorForRefusal, keyDisabled } from './refusals.ts';
import { permit, type Resolution, resolveRequest } from './resolve.ts';
import { headerNaming } from './spent-by.ts';

export interface ExplainParts {
  readonly catalog: Catalog;
  readonly ledger: Pick<Ledger, 'forecast'>;
  readonly keeper: Keeper;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly capOutput: boolean;
  readonly maxBodyBytes: number;
}

/** The fixed steps, in order. */
const STEPS = ['key', 'body', 'model', 'allowlist', 'request', 'estimate', 'price', 'hold', 'checks', 'route'] as const;
type StepName = (typeof STEPS)[number];

/** Returns an explanation even if the ledger is unavailable: clients would get that error. */
export async function explain(parts: ExplainParts, question: ExplainQuestion): Promise<Explanation> {
  const trail = new Trail();
  try {
    return await follow(trail, parts, question);
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error;
    return trail.refuse(trail.isEmpty ? 'key' : 'checks', NOT_FORWARDED);
  }
}

async function follow(trail: Trail, parts: ExplainParts, question: ExplainQuestion): Promise<Explanation> {
  const { keyId } = question;
  const standing = standingOf(await parts.ledger.forecast({ keyId, requests: [] }));
  if (standing === undefined) return trail.refuse('key', INVALID_API_KEY);
  const off = levelOff(standing);
  if (off !== undefined) return trail.refuseAt('key', keyDisabled(off.level), off.level);
  trail.add(keyStep(standing));

  const read = dialectOf(question, parts.maxBodyBytes);
  if ('error' in read) return trail.refuse('body', read.error);
  const { dialect, body } = read;
  const { path = '', user } = question;
  const outsideBody = { address: addressOf(path), sent: user === undefined ? {} : headerNaming(user) };
  const resolution = resolveRequest(parts.catalog, dialect, body, {}, outsideBody);
  const permission = permit(resolution, standing.callable, parts.catalog);
  addResolved(trail, parts.catalog, resolution, dialect, body, standing);
  if (!permission.ok) {
    const inactive = inactiveModel(parts.catalog, resolution, dialect.name);
    if (inactive !== undefined) return trail.refuse('model', permission.error, inactiveStep(inactive));
    const without = resolution.model && levelWithout(standing, resolution.model.id);
    return trail.refuseAt(stepOf(permission.error, resolution), permission.error, without?.level);
  }
  const bringing = await bringIn(parts, keyId, permission.permitted);
  if (!bringing.ok) return trail.refuse('request', bringing.error);
  const { permitted } = bringing;
  trail.add(requestStep(permitted));

  const cap = outputCap(parts.capOutput, standing.isLeashed);
  const planning = plansFor(permitted, cap);
  if (!planning.ok) return trail.refuse('estimate', { code: 'invalid_request', message: planning.problem });
  const { plan, refusal, now } = await decide(parts, keyId, permitted, planning.plans);
  if (now === undefined) return trail.refuse('key', INVALID_API_KEY);
  trail.add(estimateStep(permitted, plan), priceStep(plan), holdStep(permitted, plan, cap !== 'none'));
  const error = refusal && errorForRefusal(refusal, plan.routes[0].model.id, plan.holdNanos);
  if (error !== null && isForUser(refusal)) return trail.refuseAt('checks', error, refusal.level, 'end_user');
  trail.add(...checkSteps(now, plan, refusal));
  if (error !== null) return trail.refuse('checks', error);
  const bounded = plan.isOnLeash ? boundByStanding(plan, permitted.request, now) : plan;
  const { step, error: unavailable } = routeStep(bounded, parts.providers);
  return unavailable === undefined ? trail.admit(step) : trail.refuse('route', unavailable, step);
}

/** Refusals that precede all figures: the end user is blocked, or the key requires one. */
function isForUser(refusal: Refusal | null): refusal is Refusal & { reason: 'key_disabled' | 'user_required' } {
  return refusal?.reason === 'key_disabled' || refusal?.reason === 'user_required';
}

/** Forecasts admission like the pipeline: with the fallbacks of the model, then without. */
async function decide(
  { ledger }: ExplainParts,
  keyId: string,
  permitted: Permitted,
  plans: Plans,
): Promise<{ plan: Plan; refusal: Refusal | null; now: KeyStanding | undefined }> {
  const requests = plans.map((plan) => admissionRequest(newId('req', Date.now()), '', permitted, plan));
  const forecast = await ledger.forecast({ keyId, requests });
  const refusals = forecast.kind === 'known' ? forecast.refusals : [];
  const admitted = refusals.indexOf(null);
  const index = admitted < 0 ? plans.length - 1 : admitted;
  return { plan: plans[index] as Plan, refusal: refusals[index] ?? null, now: standingOf(forecast) };
}

function standingOf(forecast: AdmissionForecast): KeyStanding | undefined {
  return forecast.kind === 'known' ? forecast.standing : undefined;
}

type Read = { readonly dialect: Dialect; readonly body: Buffer } | { readonly error: ClientError };

function dialectOf({ path, body: bytes }: ExplainQuestion, maxBodyBytes: number): Read {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (body.length > maxBodyBytes) return { error: bodyTooLarge(maxBodyBytes) };
  if (path === undefined) return { dialect: DIALECTS[guessed(body)], body };
  const routing = routeOf('POST', path);
  if (!routing.ok) return { error: routing.error };
  if (routing.route.kind === 'model_request') return { dialect: DIALECTS[routing.route.dialect], body };
  return { error: { code: 'invalid_request', status: 404, message: `${path} takes no request to a model.` } };
}

function guessed(body: Buffer): DialectName {
  const read = readJsonBody(body);
  return read.ok ? guessDialect(read.body.fields) : 'chat';
}

/** Adds the steps of a parsed body, in the order of the checks. */
function addResolved(
  trail: Trail,
  catalog: Catalog,
  resolution: Resolution,
  dialect: Dialect,
  { length }: Buffer,
  { callable: allowlist }: KeyStanding,
): void {
  if (resolution.modelName === undefined) return;
  const isStream = resolution.ok && resolution.request.stream;
  const what = `${dialect.title}, ${counted(length, 'byte')}${isStream ? ', streamed' : ''}`;
  trail.add({ step: 'body', status: 'ok', message: what, dialect: dialect.name, bytes: length });
  const { model } = resolution;
  if (model === undefined) return;
  const alias = resolution.ok ? resolution.alias : undefined;
  const meant = alias === undefined ? model.id : `${printableName(alias)} is an alias of ${model.id}`;
  const names = { model: model.id, upstream_model: model.upstream, ...(alias !== undefined && { alias }) };
  const inactive = catalog.inactiveFallbacks(model);
  const missing = inactive.map(({ id, variable }) => `; its fallback ${id} is not active: ${variable} is not set`);
  trail.add({
    step: 'model',
    status: 'ok',
    message: meant + missing.join(''),
    ...names,
    ...(inactive.length > 0 && { inactive_fallbacks: inactive.map(({ id }) => id) }),
  });
  if (allowlist !== null && !allowlist.includes(model.id)) return;
  const why = allowlist === null ? 'the key may call every model' : 'the key may call it';
  trail.add({ step: 'allowlist', status: 'ok', message: why, allowlist });
}

/** The requested model, if it is hidden from clients because its provider is inactive. */
function inactiveModel(
  catalog: Catalog,
  { ok, model, modelName }: Resolution,
  dialect: DialectName,
): InactiveModel | undefined {
  if (ok || model !== undefined || modelName === undefined) return undefined;
  return catalog.inactive(modelName) ?? catalog.inactive(unmarkedName(modelName, dialect) ?? '');
}

/** The client only learns that the model does not exist. */
function inactiveStep({ id, provider, variable }: InactiveModel): ExplainedStep {
  const why = `${id} is in the config, but its provider ${provider} is inactive because ${variable} is not set`;
  const how = 'set it where the gateway is started, or in the file .env next to its config and reload';
  return {
    step: 'model',
    status: 'refused',
    message: `${why}; ${how}`,
    model: id,
    provider,
    missing_variable: variable,
  };
}

/** The step of a refusal before admission. */
function stepOf(error: ClientError, { modelName, model }: Resolution): StepName {
  if (modelName === undefined) return 'body';
  if (error.code === 'model_not_allowed') return 'allowlist';
  return model === undefined ? 'model' : 'request';
}

/** The completed steps. Each occurs once; the steps after a refusal are skipped. */
class Trail {
  readonly #steps: ExplainedStep[] = [];

  get isEmpty(): boolean {
    return this.#steps.length === 0;
  }

  add(...steps: readonly ExplainedStep[]): void {
    this.#steps.push(...steps);
  }

  admit(last: ExplainedStep): Explanation {
    this.add(last);
    return { status: 200, code: null, message: `It would be admitted and sent: ${last.message}.`, steps: this.#steps };
  }

  /** `level`: the level whose limit refuses; undefined for the key itself. */
  refuseAt(at: StepName, error: ClientError, level: LevelName | undefined, step: string = at): Explanation {
    const { message } = error;
    return this.refuse(at, error, { step, status: 'refused', message, ...(level !== undefined && { level }) });
  }

  refuse(at: StepName, error: ClientError, step?: ExplainedStep): Explanation {
    const { code, message, retryAfterS } = error;
    // The checks contain their own refusal.
    if (this.#steps.at(-1)?.step !== 'held_money') this.add(step ?? { step: at, status: 'refused', message });
    const skipped = STEPS.slice(STEPS.indexOf(at) + 1).map(skippedStep);
    const steps = [...this.#steps, ...skipped];
    const retry = retryAfterS !== undefined && { retry_after_s: retryAfterS };
    return { status: statusOf(error), code, message, ...retry, steps };
  }
}

function skippedStep(step: StepName): ExplainedStep {
  const status: StepStatus = 'skipped';
  return { step, status, message: NOT_REACHED };
}
