/** The agents of the campaign: how each is installed, started, and made to do what it is asked. */
import type { Feature } from './features.ts';

/** What an agent is told that `inf-gw env` does not know. */
export interface Access {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

/** What a model calls. */
export interface ToolCall {
  readonly tool: string;
  readonly args: object;
}

export interface Agent {
  /** The command, as `inf-gw env` knows it if it does. */
  readonly name: string;
  readonly title: string;
  /** The package, by its installer. */
  readonly from: { readonly npm: string } | { readonly pip: string };
  /** The model of a host that speaks another dialect. */
  readonly translatedModel: string;
  /** What its user does beside, or in place of, the lines of `inf-gw env`: as docs/clients.md says. */
  setUp?(access: Access): string;
  /** The command line for one prompt. */
  once(prompt: string): string;
  /** The same, in the session of the last one. */
  again(prompt: string): string;
  /** What makes the mock call the tool that writes a file. */
  writes(path: string, content: string): string;
  /** The calls with which a model changes a word in a file. */
  edits?(path: string, before: string, after: string): readonly ToolCall[];
  /** Prints JSON of the schema in a file. */
  structured?(prompt: string, schemaFile: string): string;
  /** What the prompt has to say for that. */
  readonly structuredPrompt?: string;
  /** Why it cannot do what is asked. */
  readonly lacks: Partial<Readonly<Record<Feature, string>>>;
}

/** Quoted for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function call(tool: string, args: object): string {
  return `/call ${tool} ${JSON.stringify(args)}`;
}

/** Lines of a shell that write a file. */
function written(path: string, text: string): string {
  return `mkdir -p "$(dirname ${path})" && printf %s ${quoted(text)} > ${path}`;
}

const CITY = { city: 'text' };

export const AGENTS: readonly Agent[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    from: { npm: '@anthropic-ai/claude-code' },
    translatedModel: 'chat/echo',
    once: (prompt) => `claude -p --permission-mode acceptEdits ${quoted(prompt)}`,
    again: (prompt) => `claude -p --continue ${quoted(prompt)}`,
    writes: (path, content) => call('Write', { file_path: path, content }),
    edits: (path, before, after) => [
      { tool: 'Read', args: { file_path: path } },
      { tool: 'Edit', args: { file_path: path, old_string: before, new_string: after } },
    ],
    structured: (prompt, file) => `claude -p --output-format json --json-schema "$(cat ${file})" ${quoted(prompt)}`,
    structuredPrompt: `Do this: ${call('StructuredOutput', CITY)}`,
    lacks: {},
  },
  {
    name: 'codex',
    title: 'Codex',
    from: { npm: '@openai/codex' },
    translatedModel: 'messages/echo',
    once: (prompt) => `codex exec --skip-git-repo-check --sandbox danger-full-access ${quoted(prompt)}`,
    again: (prompt) => `codex exec resume --skip-git-repo-check --last ${quoted(prompt)}`,
    writes: (path, content) => call('exec_command', { cmd: `printf %s ${content} > ${path}` }),
    edits: (path, before, after) => [
      { tool: 'exec_command', args: { cmd: `cat ${path}` } },
      { tool: 'exec_command', args: { cmd: `sed -i s/${before}/${after}/ ${path}` } },
    ],
    structured: (prompt, file) => `codex exec --skip-git-repo-check --output-schema ${file} ${quoted(prompt)}`,
    lacks: {},
  },
  {
    name: 'opencode',
    title: 'opencode',
    from: { npm: 'opencode-ai' },
    translatedModel: 'messages/echo',
    // As an argument it would come with its quotes escaped.
    once: (prompt) => `printf %s ${quoted(prompt)} | opencode run --auto`,
    again: (prompt) => `printf %s ${quoted(prompt)} | opencode run --auto --continue`,
    writes: (path, content) => call('write', { filePath: path, content }),
    lacks: { 'structured output': 'has no option for it' },
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    from: { npm: '@qwen-code/qwen-code' },
    translatedModel: 'messages/echo',
    once: (prompt) => `qwen --approval-mode yolo -p ${quoted(prompt)}`,
    again: (prompt) => `qwen --continue -p ${quoted(prompt)}`,
    writes: (path, content) => call('write_file', { file_path: path, content }),
    structured: (prompt, file) => `qwen --json-schema @${file} -p ${quoted(prompt)}`,
    structuredPrompt: `Do this: ${call('structured_output', CITY)}`,
    lacks: {},
  },
  {
    name: 'aider',
    title: 'aider',
    from: { pip: 'aider-chat' },
    translatedModel: 'messages/echo',
    once: (prompt) => `aider --yes-always --no-git --no-check-update --no-analytics --message ${quoted(prompt)}`,
    again: (prompt) =>
      `aider --yes-always --no-git --no-check-update --no-analytics --restore-chat-history --message ${quoted(prompt)}`,
    writes: () => '',
    lacks: { tools: 'uses none: its edits are text', 'structured output': 'has no option for it' },
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    from: { npm: '@google/gemini-cli' },
    translatedModel: 'messages/echo',
    setUp: () => written('~/.gemini/settings.json', '{ "security": { "auth": { "selectedType": "gemini-api-key" } } }'),
    once: (prompt) => `gemini --skip-trust --approval-mode yolo -p ${quoted(prompt)}`,
    again: (prompt) => `gemini --skip-trust --approval-mode yolo --resume latest -p ${quoted(prompt)}`,
    writes: (path, content) => call('write_file', { file_path: path, content }),
    edits: (path, before, after) => [
      { tool: 'read_file', args: { file_path: path } },
      {
        tool: 'replace',
        args: { file_path: path, instruction: 'Change a word.', old_string: before, new_string: after },
      },
    ],
    lacks: { 'structured output': 'has no option for it' },
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    from: { npm: '@github/copilot' },
    translatedModel: 'messages/echo',
    once: (prompt) => `copilot --allow-all-tools -p ${quoted(prompt)}`,
    again: (prompt) => `copilot --allow-all-tools --continue -p ${quoted(prompt)}`,
    writes: (path, content) =>
      call('bash', { command: `printf %s ${content} > ${path}`, description: 'Writes a file.' }),
    lacks: { 'structured output': 'has no option for it' },
  },
  {
    name: 'pi',
    title: 'pi',
    from: { npm: '@mariozechner/pi-coding-agent' },
    translatedModel: 'messages/echo',
    once: (prompt) => `pi -p ${quoted(prompt)}`,
    again: (prompt) => `pi --continue -p ${quoted(prompt)}`,
    writes: (path, content) => call('bash', { command: `printf %s ${content} > ${path}` }),
    lacks: { 'structured output': 'has no option for it' },
  },
  {
    name: 'cline',
    title: 'Cline',
    from: { npm: 'cline' },
    translatedModel: 'messages/echo',
    setUp: ({ url, key, model }) => `cline auth -p openai-compatible -b ${url}/v1 -k ${key} -m ${model} > auth.log`,
    once: (prompt) => `cline ${quoted(prompt)}`,
    again: (prompt) => `cline ${quoted(prompt)}`,
    writes: (path, content) => call('run_commands', { commands: [`printf %s ${content} > ${path}`] }),
    lacks: {
      'two turns': 'goes on with a task only on a terminal of its own',
      'structured output': 'has no option for it',
    },
  },
  {
    name: 'cn',
    title: 'Continue',
    from: { npm: '@continuedev/cli' },
    translatedModel: 'messages/echo',
    setUp: ({ url, key, model }) =>
      `export INF_GW_KEY=${key}\n${written(
        '~/.continue/config.yaml',
        [
          ...['name: inf-gw', 'version: 1.0.0', 'schema: v1', 'models:', '  - name: echo', '    provider: openai'],
          ...[`    model: ${model}`, `    apiBase: ${url}/v1`, `    apiKey: \${{ secrets.INF_GW_KEY }}`],
        ].join('\n'),
      )}`,
    once: (prompt) => `cn --auto -p ${quoted(prompt)}`,
    again: (prompt) => `cn --auto --resume -p ${quoted(prompt)}`,
    writes: (path, content) => call('Bash', { command: `printf %s ${content} > ${path}` }),
    lacks: { 'structured output': 'has no option for it' },
  },
];
