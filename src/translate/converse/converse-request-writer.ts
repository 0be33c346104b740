/** Writes Converse requests. */
import { isClaude, isNova } from '../../core/bedrock.ts';
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, isEmptyValue, present } from '../findings.ts';
import { enforceable } from '../messages/enforceable-schema.ts';
import { EFFORTS, JSON_ONLY, samplingFields } from '../messages/messages-request-writer.ts';
import { refuseImages } from '../modalities.ts';
import type { Format, NeutralRequest, Reasoning, Sourced, ToolChoice } from '../request.ts';
import { effortOfBudget, thinkingWithin } from '../thinking-budget.ts';
import type { HostTerms } from '../translation.ts';
import { noteUntranslatable } from '../untranslatable.ts';
import { cachePointsOf, conversationOf } from './converse-turns-writer.ts';

export function writeConverseRequest(request: NeutralRequest, terms: HostTerms, findings: Findings): Fields {
  const model = terms.upstream ?? request.model;
  const { system, messages } = conversationOf(request.turns, model, findings);
  noteUntranslatable(request, findings);
  refuseImages(request.modalities, request.turns.value, findings);
  if (request.format.kind === 'json_object') system.push({ text: JSON_ONLY });
  const thinking = thinkingOf(request, model);
  const { temperature, top_p: topP, top_k } = samplingFields(request, thinking, findings);
  const topK = request.topK && { field: request.topK.field, value: top_k };
  const additional = present({ ...topKOf(topK, model, findings), thinking });
  const stopSequences = request.stops?.value;
  const config = present({ maxTokens: request.maxOutput, temperature, topP, stopSequences });
  const output = present({
    effort: effortOf(request.reasoning, model, findings),
    textFormat: formatOf(request.format),
  });
  return withoutEmpty({
    model: request.model,
    stream: request.stream,
    system,
    messages,
    inferenceConfig: config,
    toolConfig: toolsOf(request, model, findings),
    outputConfig: output,
    additionalModelRequestFields: additional,
    serviceTier: tierOf(request.serviceTier, findings),
  });
}

function withoutEmpty(fields: Fields): Fields {
  const isEmpty = (value: unknown) => isEmptyValue(value) || (isObject(value) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function toolsOf(request: NeutralRequest, model: string, findings: Findings): Fields | undefined {
  const { tools: offered, choice, turns } = request;
  if (offered.length === 0) return undefined;
  if (choice?.kind === 'none') {
    // Past calls require the tool definitions, and Converse has no `none` to forbid further calls.
    const hasCalls = turns.value.some((turn) => turn.kind === 'assistant' && turn.written.some(isCall));
    if (hasCalls) findings.refuse('tool_choice', 'expected another than none, which Converse cannot say; leave it out');
    return undefined;
  }
  const tools = offered.flatMap(({ hostName, description, parameters, strict, cache }) => {
    const schema = { type: 'object', ...(parameters ?? { properties: {} }) };
    const isStrict = strict === true;
    const inputSchema = { json: isStrict ? enforceable(schema) : schema };
    const toolSpec = present({
      name: hostName,
      description: description || undefined,
      inputSchema,
      strict: isStrict || undefined,
    });
    // Nova does not cache tools.
    const isMarked = cache !== undefined && !isNova(model);
    if (cache !== undefined && !isMarked) findings.ignore(cache.field);
    return [{ toolSpec }, ...(isMarked ? cachePointsOf(cache, model, findings) : [])];
  });
  return present({ tools, toolChoice: choice && choiceOf(choice) });
}

function isCall({ kind }: { readonly kind: string }): boolean {
  return kind === 'call';
}

/** Omits the default, because some models accept no tool choice. */
function choiceOf(choice: ToolChoice): Fields | undefined {
  if (choice.kind === 'named') return { tool: { name: choice.hostName } };
  return choice.kind === 'required' ? { any: {} } : undefined;
}

/** Returns `top_k` for the model's own fields; Converse itself does not have it. */
function topKOf(topK: Sourced<unknown> | undefined, model: string, findings: Findings): Fields {
  if (topK === undefined) return {};
  if (isClaude(model)) return { top_k: topK.value };
  if (isNova(model)) return { inferenceConfig: { topK: topK.value } };
  findings.ignore(topK.field);
  return {};
}

/** Claude takes thinking in the form of the messages dialect on all hosts. */
function thinkingOf({ reasoning, maxOutput }: NeutralRequest, model: string): Fields | undefined {
  const { thinking, effort, offField } = reasoning;
  if (!isClaude(model)) return undefined;
  if (thinking !== undefined) return present(thinkingWithin(thinking, maxOutput));
  if (offField !== undefined || effort?.value === 'none') return { type: 'disabled' };
  return effort === undefined ? undefined : { type: 'adaptive' };
}

/** Other models take only an effort. Without one, the model decides. */
function effortOf(reasoning: Reasoning, model: string, findings: Findings): string | undefined {
  const { effort, thinking, offField, summaryField } = reasoning;
  if (effort !== undefined && effort.value !== 'none') {
    const level = EFFORTS.get(effort.value);
    if (level === undefined) findings.refuse(effort.field, `expected one of none, ${[...EFFORTS.keys()].join(', ')}`);
    return level;
  }
  if (summaryField !== undefined) findings.ignore(summaryField);
  if (isClaude(model)) return undefined;
  const isOff = effort !== undefined || offField !== undefined || thinking?.type === 'disabled';
  if (isOff) findings.ignore(effort?.field ?? offField ?? 'thinking');
  return isOff || thinking === undefined ? undefined : (effortOfBudget(thinking.budget_tokens) ?? 'medium');
}

/** Schemas are passed as text and always enforced. */
function formatOf(format: Format): Fields | undefined {
  if (format.kind !== 'json_schema') return undefined;
  const { schema, name, description } = format.definition;
  const jsonSchema = present({ name, description, schema: JSON.stringify(enforceable(schema)) });
  return { type: 'json_schema', structure: { jsonSchema } };
}

const TIERS: ReadonlyMap<unknown, string | undefined> = new Map([
  ['auto', undefined],
  ...['default', 'flex', 'priority'].map((tier) => [tier, tier] as const),
]);

function tierOf(tier: unknown, findings: Findings): Fields | undefined {
  const type = findings.tier(TIERS, tier);
  return type === undefined ? undefined : { type };
}
