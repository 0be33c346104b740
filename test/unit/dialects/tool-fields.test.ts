/** Every field that the official libraries know of a tool is free, priced, or refers to something: none is overlooked. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { messagesRequest } from './messages/messages.ts';
import { responsesRequest } from './responses/responses.ts';

const typesOf = (library: string, path: string) =>
  readFileSync(join(dirname(fileURLToPath(import.meta.resolve(library))), path), 'utf8');
const OPENAI = typesOf('openai', 'resources/responses/responses.d.ts');
const ANTHROPIC = typesOf('@anthropic-ai/sdk', 'resources/beta/messages/messages.d.ts');

/** The names of the fields of an interface, without those of types within it. */
function fieldsOf(types: string, name: string): readonly string[] {
  const [, indent = '', body = ''] =
    new RegExp(`^( *)(?:export )?interface ${name} \\{\\n([^]*?)\\n\\1\\}`, 'm').exec(types) ?? [];
  const fields = [...body.matchAll(new RegExp(`^${indent} {4}(\\w+)\\??: `, 'gm'))].map(([, field]) => field as string);
  assert.ok(fields.length > 0, `the library has no ${name}`);
  return fields;
}

/** A tool with every field that the library knows, each with a value that is not usual. */
function toolOf(types: string, name: string, type: string, within: Readonly<Record<string, string>> = {}): object {
  const fill = (fields: readonly string[]) =>
    Object.fromEntries(fields.map((field) => [field, field === 'max_uses' ? 1 : 'x']));
  const nested = Object.entries(within).map(([field, inner]) => [field, fill(fieldsOf(types, inner))]);
  return { ...fill(fieldsOf(types, name)), ...Object.fromEntries(nested), type };
}

/** The type, its interface, those of its fields, and the fields whose values a price must know. */
const RESPONSES: readonly (readonly [
  type: string,
  name: string,
  within: Readonly<Record<string, string>>,
  priced: string,
])[] = [
  ['web_search', 'WebSearchTool', {}, 'search_context_size'],
  ['web_search_preview', 'WebSearchPreviewTool', {}, 'search_context_size'],
  ['file_search', 'FileSearchTool', {}, ''],
  ['mcp', 'Mcp', {}, ''],
  ['code_interpreter', 'CodeInterpreter', { container: 'CodeInterpreterToolAuto' }, 'memory_limit'],
  ['shell', 'FunctionShellTool', { environment: 'ContainerAuto' }, 'memory_limit'],
  ['shell', 'FunctionShellTool', { environment: 'ContainerReference' }, ''],
  ['programmatic_tool_calling', 'ProgrammaticToolCalling', {}, ''],
  [
    'image_generation',
    'ImageGeneration',
    { input_image_mask: 'InputImageMask' },
    'complexity frame_count input_fidelity model output_format partial_images quality size svg',
  ],
];

const MESSAGES: readonly (readonly [type: string, name: string, priced: string])[] = [
  ['web_search_20260318', 'BetaWebSearchTool20260318', ''],
  ['web_fetch_20260318', 'BetaWebFetchTool20260318', ''],
  ['code_execution_20260521', 'BetaCodeExecutionTool20260521', ''],
  ['advisor_20260301', 'BetaAdvisorTool20260301', 'caching max_tokens model'],
  ['mcp_toolset', 'BetaMCPToolset', ''],
];

/** Those that are given. What a tool does not set has its usual value, or none. */
const priced = ({ hostTools }: ReturnType<typeof responsesRequest>) =>
  hostTools.flatMap(({ settings }) => settings.filter(({ isUsual }) => !isUsual).map(({ field }) => field)).toSorted();
const words = (text: string) => text.split(' ').filter((word) => word !== '');

describe('the fields of a tool that its price must know are', () => {
  for (const [type, name, within, expected] of RESPONSES) {
    test(`of ${name}: ${expected || 'none'}`, () => {
      assert.deepEqual(priced(responsesRequest({ tools: [toolOf(OPENAI, name, type, within)] })), words(expected));
    });
  }
  for (const [type, name, expected] of MESSAGES) {
    test(`of ${name}: ${expected || 'none'}`, () => {
      assert.deepEqual(priced(messagesRequest({ tools: [toolOf(ANTHROPIC, name, type)] })), words(expected));
    });
  }
});

/** The tools of the libraries that the client runs, or that cost their tokens alone. */
const FREE = {
  openai:
    'FunctionTool ComputerTool ComputerUsePreviewTool LocalShell CustomTool NamespaceTool ToolSearchTool ApplyPatchTool',
  anthropic:
    'Tool ToolBash BrowserToolset ToolComputerUse MemoryTool ComputerToolset ToolTextEditor ToolSearchToolBm25_ ToolSearchToolRegex',
};

describe('every tool is one of those above, or free:', () => {
  const members = (types: string, union: string) => {
    const [, list = ''] = new RegExp(`^export type ${union} = (.*);$`, 'm').exec(types) ?? [];
    return list.split(' | ').map((name) => name.replace(/^(?:Tool\.|Beta)/, ''));
  };
  test('in responses', () => {
    const known = new Set([...RESPONSES.map(([, name]) => name), ...words(FREE.openai)]);
    assert.deepEqual(
      members(OPENAI, 'Tool').filter((name) => !known.has(name)),
      [],
    );
  });
  test('in messages, whatever their date', () => {
    const undated = (name: string) => name.replace(/^Beta/, '').replace(/\d{8}$/, '');
    const known = new Set([...MESSAGES.map(([, name]) => undated(name)), ...words(FREE.anthropic)]);
    assert.deepEqual(
      members(ANTHROPIC, 'BetaToolUnion').filter((name) => !known.has(undated(name))),
      [],
    );
  });
});
