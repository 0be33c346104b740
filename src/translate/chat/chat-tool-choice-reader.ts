/** Reads which tools a chat request lets the model call. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';

/** `named`: the model must call the one that is named. */
export interface NamedChoice {
  readonly kind: 'auto' | 'none' | 'required' | 'named';
  /** The tools that the request names, and where. */
  readonly names: readonly { readonly name: string; readonly where: string }[];
  /** Only the tools that are named are there. */
  readonly isSubset: boolean;
}

const AUTO: NamedChoice = { kind: 'auto', names: [], isSubset: false };

/** `isFunctionCall`: the request uses the deprecated fields. */
export function readToolChoice(request: Fields, isFunctionCall: boolean, findings: Findings): NamedChoice {
  const [field, other] = isFunctionCall ? ['function_call', 'tool_choice'] : ['tool_choice', 'function_call'];
  const unused = request[other];
  if (unused !== undefined && unused !== null && unused !== 'auto' && unused !== 'none') {
    findings.refuse(other, `expected ${field} beside ${isFunctionCall ? 'functions' : 'tools'}`);
  }
  const value = request[field] ?? 'auto';
  if (value === 'auto' || value === 'none') return { ...AUTO, kind: value };
  if (isFunctionCall) return readNamed(value, 'function_call', findings);
  if (value === 'required') return { ...AUTO, kind: 'required' };
  if (isObject(value) && value.type === 'allowed_tools') return readAllowed(value, findings);
  return readNamed(definitionIn(value, 'tool_choice', findings), 'tool_choice', findings);
}

/** Where a function or a custom tool is named: `{type, <type>: {name}}`. */
function definitionIn(value: unknown, where: string, findings: Findings): unknown {
  if (!isObject(value) || (value.type !== 'function' && value.type !== 'custom')) return undefined;
  findings.expectOnly(new Set(['type', value.type]), value, where);
  return value[value.type];
}

const NAME: ReadonlySet<string> = new Set(['name']);

function readNamed(definition: unknown, where: string, findings: Findings): NamedChoice {
  if (isObject(definition) && typeof definition.name === 'string') {
    findings.expectOnly(NAME, definition, where);
    return { kind: 'named', names: [{ name: definition.name, where }], isSubset: false };
  }
  findings.refuse(where, 'expected auto, none, required, or a tool by its type and name');
  return AUTO;
}

const MODES: readonly unknown[] = ['auto', 'required'];
const ALLOWED_FIELDS: ReadonlySet<string> = new Set(['mode', 'tools']);

function readAllowed(choice: Fields, findings: Findings): NamedChoice {
  const where = 'tool_choice.allowed_tools';
  findings.expectOnly(new Set(['type', 'allowed_tools']), choice, 'tool_choice');
  const allowed = isObject(choice.allowed_tools) ? choice.allowed_tools : {};
  findings.expectOnly(ALLOWED_FIELDS, allowed, where);
  const { mode, tools } = allowed;
  if (!MODES.includes(mode)) findings.refuse(`${where}.mode`, 'expected auto or required');
  if (!Array.isArray(tools) || tools.length === 0) {
    findings.refuse(`${where}.tools`, 'expected an array of at least one tool');
    return AUTO;
  }
  const names = tools.flatMap((tool, index) => {
    const at = `${where}.tools[${index}]`;
    return readNamed(definitionIn(tool, at, findings), at, findings).names;
  });
  return { kind: mode === 'required' ? 'required' : 'auto', names, isSubset: true };
}
