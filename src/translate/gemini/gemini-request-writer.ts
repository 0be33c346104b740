/** Writes requests of Google's dialect. */
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, isEmptyValue, present } from '../findings.ts';
import { MESSAGES_THINKING } from '../messages/messages-request-writer.ts';
import type { Format, NeutralRequest, Reasoning, Sourced } from '../request.ts';
import type { HostTerms } from '../translation.ts';
import { noteUntranslatable } from '../untranslatable.ts';
import { conversationOf } from './gemini-turns-writer.ts';

export function writeGeminiRequest(request: NeutralRequest, terms: HostTerms, findings: Findings): Fields {
  const model = terms.upstream ?? request.model;
  const { system, contents } = conversationOf(request.turns, model, findings);
  noteUntranslatable(request, findings);
  const config = present({
    maxOutputTokens: request.maxOutput,
    temperature: request.temperature?.value,
    topP: request.topP?.value,
    topK: topKOf(request.topK, findings),
    stopSequences: findings.atMost(MAX_STOPS, request.stops),
    thinkingConfig: thinkingOf(request.reasoning, model, findings),
    ...formatFields(request.format),
    responseModalities: request.modalities?.value.map((name) => name.toUpperCase()),
  });
  return present({
    model: request.model,
    stream: request.stream,
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents,
    ...toolFields(request, findings),
    generationConfig: Object.keys(config).length > 0 ? config : undefined,
    serviceTier: findings.tier(TIERS, request.serviceTier),
  });
}

function toolFields({ tools, choice }: NeutralRequest, findings: Findings): Fields {
  if (tools.length === 0) return {};
  if (tools.some(({ strict }) => strict === true)) findings.ignore('tools.strict');
  for (const { cache } of tools) if (cache !== undefined) findings.ignore(cache.field);
  const functionDeclarations = tools.map(({ hostName, description, parameters }) =>
    present({ name: hostName, description, parametersJsonSchema: parameters }),
  );
  const calling = choice === undefined ? undefined : callingOf(choice);
  return { tools: [{ functionDeclarations }], ...(calling && { toolConfig: { functionCallingConfig: calling } }) };
}

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const;

function callingOf(choice: NonNullable<NeutralRequest['choice']>): Fields {
  if (choice.kind === 'named') return { mode: 'ANY', allowedFunctionNames: [choice.hostName] };
  return { mode: MODES[choice.kind] };
}

function topKOf(topK: Sourced<unknown> | undefined, findings: Findings): unknown {
  if (topK !== undefined && !(Number.isSafeInteger(topK.value) && Number(topK.value) >= 1)) {
    findings.refuse(topK.field, 'expected a whole number of at least 1');
  }
  return topK?.value;
}

/** Maximum number of stop sequences. */
const MAX_STOPS = 5;

/** Models with token budgets instead of levels. */
const TAKES_BUDGET = /gemini-2\.5/i;
/** Models that cannot turn thinking off. */
const IS_PRO = /pro/i;
const IS_LITE = /flash-lite/i;
/** Models with the level MINIMAL, as documented by Google in 2026-11. The lowest level of all others is LOW. */
const TAKES_MINIMAL = /gemini-3(?:\.[156])?-flash/i;

/** Google's budgets for the levels, in tokens. */
const BUDGETS: ReadonlyMap<unknown, number> = new Map([
  ['minimal', 1_024],
  ['low', 1_024],
  ['medium', 8_192],
  ...['high', 'xhigh', 'max'].map((level) => [level, 24_576] as const),
]);
/** Minimum budget of models that cannot turn thinking off. */
const LEAST_BUDGET = 128;

/** Range of valid budgets, in tokens. Models reject others. */
function rangeOfBudgets(model: string): { readonly least: number; readonly most: number } {
  if (IS_PRO.test(model)) return { least: LEAST_BUDGET, most: 32_768 };
  return { least: IS_LITE.test(model) ? 512 : 1, most: 24_576 };
}

const LEVELS: ReadonlyMap<unknown, string> = new Map([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ...['high', 'xhigh', 'max'].map((level) => [level, 'HIGH'] as const),
]);

/** Returns undefined for the model's default. */
function thinkingOf(reasoning: Reasoning, model: string, findings: Findings): Fields | undefined {
  const { effort, isShown, summaryField, offField, thinking } = reasoning;
  if (thinking !== undefined) return askedFor(thinking, model, findings);
  if (offField !== undefined || effort?.value === 'none')
    return unthinking(model, offField ?? effort?.field ?? '', findings);
  if (effort === undefined) return summaryField === undefined ? undefined : { includeThoughts: true };
  if (!LEVELS.has(effort.value))
    findings.refuse(effort.field, `expected one of none, ${[...LEVELS.keys()].join(', ')}`);
  return { ...amountOf(effort.value, model), ...(isShown && { includeThoughts: true }) };
}

function amountOf(level: unknown, model: string): Fields {
  if (TAKES_BUDGET.test(model)) return { thinkingBudget: BUDGETS.get(level) };
  const isTooLittle = level === 'minimal' && !TAKES_MINIMAL.test(model);
  return { thinkingLevel: isTooLittle ? 'LOW' : LEVELS.get(level) };
}

/** Turns thinking off, or down to the minimum. In the latter case, reports the field as ignored. */
function unthinking(model: string, field: string, findings: Findings): Fields {
  if (TAKES_BUDGET.test(model) && !IS_PRO.test(model)) return { thinkingBudget: 0 };
  findings.ignore(field);
  return TAKES_BUDGET.test(model) ? { thinkingBudget: LEAST_BUDGET } : amountOf('minimal', model);
}

/** Converts `thinking` of the messages dialect. */
function askedFor(thinking: Fields, model: string, findings: Findings): Fields {
  findings.expectOnly(MESSAGES_THINKING, thinking, 'thinking');
  const { type, budget_tokens: budget, display } = thinking;
  if (type === 'disabled') return unthinking(model, 'thinking', findings);
  if (type !== 'enabled' && type !== 'adaptive') {
    findings.refuse('thinking.type', 'expected enabled, adaptive or disabled');
  }
  if (!isEmptyValue(budget) && !(Number.isSafeInteger(budget) && Number(budget) >= 0)) {
    findings.refuse('thinking.budget_tokens', 'expected a whole number');
  }
  const { least, most } = rangeOfBudgets(model);
  const taken = isEmptyValue(budget) ? undefined : Math.max(least, Math.min(most, Number(budget)));
  return present({ thinkingBudget: taken, includeThoughts: display !== 'omitted' || undefined });
}

function formatFields(format: Format): Fields {
  const json = { responseMimeType: 'application/json' };
  if (format.kind !== 'json_schema') return format.kind === 'text' ? {} : json;
  const { schema, description } = format.definition;
  const described = typeof description === 'string' ? { description, ...schema } : schema;
  return { ...json, responseJsonSchema: described };
}

const TIERS: ReadonlyMap<unknown, string | undefined> = new Map([
  ['auto', undefined],
  ['default', 'standard'],
  ['flex', 'flex'],
  ['priority', 'priority'],
]);
