/** Reads tools and the tool choice. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { listOf } from '../../dialects/gemini/gemini-fields.ts';
import { snakeCase } from '../../dialects/gemini/gemini-names.ts';
import { type Findings, isEmptyValue } from '../findings.ts';
import { leftOutAs, UNRUNNABLE } from '../left-out-tools.ts';
import type { OfferedTool, ToolChoice } from '../request.ts';
import type { HostTerms } from '../translation.ts';
import { jsonSchemaOf } from './json-schema.ts';

export interface Tools {
  readonly tools: readonly OfferedTool[];
  readonly choice: ToolChoice | undefined;
  readonly parallelCalls: undefined;
}

export function readTools(fields: Fields, { ignoreTools }: HostTerms, findings: Findings): Tools {
  const offered = listOf(fields.tools).flatMap((tool, index) =>
    isObject(tool) ? readTool(tool, `tools[${index}]`, ignoreTools, findings) : [],
  );
  const config = findings.object(fields.toolConfig, 'toolConfig') ?? {};
  findings.expectOnly(CONFIG_FIELDS, config, 'toolConfig');
  const where = 'toolConfig.functionCallingConfig';
  const calling = findings.object(config.functionCallingConfig, where) ?? {};
  findings.expectOnly(CALLING_FIELDS, calling, where);
  const names = listOf(calling.allowedFunctionNames);
  const tools = names.length === 0 ? offered : offered.filter(({ hostName }) => names.includes(hostName));
  return { tools, choice: readChoice(calling.mode, tools, where, findings), parallelCalls: undefined };
}

/** `retrievalConfig` applies only to host tools. */
const CONFIG_FIELDS: ReadonlySet<string> = new Set([
  ...['functionCallingConfig', 'retrievalConfig', 'includeServerSideToolInvocations'],
]);
const CALLING_FIELDS: ReadonlySet<string> = new Set(['mode', 'allowedFunctionNames', 'streamFunctionCallArguments']);

function readChoice(
  mode: unknown,
  tools: readonly OfferedTool[],
  where: string,
  findings: Findings,
): ToolChoice | undefined {
  switch (mode ?? 'MODE_UNSPECIFIED') {
    case 'MODE_UNSPECIFIED':
      return undefined;
    case 'AUTO':
    case 'VALIDATED':
      return { kind: 'auto' };
    case 'NONE':
      return { kind: 'none' };
    case 'ANY': {
      const [only, ...others] = tools;
      if (only === undefined) findings.refuse(where, 'this model can call none of the tools');
      return only !== undefined && others.length === 0
        ? { kind: 'named', hostName: only.hostName }
        : { kind: 'required' };
    }
    default:
      findings.refuse(`${where}.mode`, 'expected AUTO, ANY, NONE or VALIDATED');
      return undefined;
  }
}

function readTool(
  { functionDeclarations, ...others }: Fields,
  where: string,
  ignoreTools: readonly string[],
  findings: Findings,
): readonly OfferedTool[] {
  for (const [member, value] of Object.entries(others)) {
    if (isEmptyValue(value)) continue;
    const leftOut = leftOutAs(snakeCase(member), ignoreTools);
    if (leftOut === undefined) findings.refuse(`${where}.${printableName(member)}`, UNRUNNABLE);
    else findings.ignore(`tools.${leftOut}`);
  }
  return listOf(functionDeclarations).map((declaration, index) =>
    readDeclaration(declaration, `${where}.functionDeclarations[${index}]`, findings),
  );
}

/** Response schemas are not translated: other dialects lack them. */
const DECLARATION_FIELDS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'parameters', 'parametersJsonSchema', 'response', 'responseJsonSchema', 'behavior'],
]);
const BLOCKING: readonly unknown[] = [undefined, null, 'UNSPECIFIED', 'BLOCKING'];

function readDeclaration(value: unknown, where: string, findings: Findings): OfferedTool {
  const declaration = findings.object(value ?? '', where) ?? {};
  findings.expectOnly(DECLARATION_FIELDS, declaration, where);
  const { name, description, parameters, parametersJsonSchema: schema, behavior } = declaration;
  if (!BLOCKING.includes(behavior)) findings.refuse(`${where}.behavior`, 'expected BLOCKING');
  const own = findings.object(parameters, `${where}.parameters`);
  return {
    hostName: findings.text(name, `${where}.name`),
    description: isEmptyValue(description) ? undefined : findings.text(description, `${where}.description`),
    parameters: findings.object(schema, `${where}.parametersJsonSchema`) ?? (own && jsonSchemaOf(own)),
    strict: undefined,
  };
}
