/** The agents of the campaign: how each is installed, started, and made to do what it is asked. */
import type { Feature } from './features.ts';
import type { Scenario } from './run-findings.ts';

/** What an agent is told that `inf-gw env` does not know. */
export interface Access {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

/** What a model calls. */
export interface ToolCall {
  readonly tool: string;
  /** Text for a custom tool of the responses dialect. */
  readonly args: object | string;
  /** Of the tool, in the responses dialect. */
  readonly namespace?: string;
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
  /** The command line for one prompt. `ahead`: words before the command, such as those of `inf-gw run`. */
  once(prompt: string, ahead?: string): string;
  /** The same, in the session of the last one. */
  again(prompt: string): string;
  /** What makes the mock call the tool that writes a file. */
  writes(path: string, content: string): string;
  /** The calls with which a model changes a word in a file. Those whose tools a request does not offer are left out. */
  edits?(path: string, before: string, after: string): readonly ToolCall[];
  /** The same where its edits are texts: the answers with which a model changes `before` to `after` in note.txt. */
  readonly texts?: readonly string[];
  /** Lines of a shell before it edits a file by `run`. */
  readonly prepares?: string;
  /** The model of the shipped config that speaks another dialect, by `run`. */
  readonly foreignModel?: string;
  /** Prints JSON of the schema in a file. */
  structured?(prompt: string, schemaFile: string): string;
  /** What the prompt has to say for that. */
  readonly structuredPrompt?: string;
  /** Why a failure by `run` takes it longer, or is not said. */
  readonly excused?: Partial<Readonly<Record<Scenario, string>>>;
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

const RETRIES_502 = { 'key refused later': 'retries a 502' } as const;

export const AGENTS: readonly Agent[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    from: { npm: '@anthropic-ai/claude-code' },
    translatedModel: 'chat/echo',
    once: (prompt, ahead = '') => `${ahead}claude -p --permission-mode acceptEdits ${quoted(prompt)}`,
    again: (prompt) => `claude -p --continue ${quoted(prompt)}`,
    writes: (path, content) => call('Write', { file_path: path, content }),
    edits: (path, before, after) => [
      { tool: 'Read', args: { file_path: path } },
      { tool: 'Edit', args: { file_path: path, old_string: before, new_string: after } },
    ],
    structured: (prompt, file) => `claude -p --output-format json --json-schema "$(cat ${file})" ${quoted(prompt)}`,
    structuredPrompt: `Do this: ${call('StructuredOutput', CITY)}`,
    foreignModel: 'openai/gpt-5.4',
    lacks: {},
  },
  {
    name: 'codex',
    title: 'Codex',
    from: { npm: '@openai/codex' },
    translatedModel: 'messages/echo',
    once: (prompt, ahead = '') =>
      `${ahead}codex exec --skip-git-repo-check --sandbox danger-full-access ${quoted(prompt)}`,
    again: (prompt) => `codex exec resume --skip-git-repo-check --last ${quoted(prompt)}`,
    writes: (path, content) => call('exec_command', { cmd: `printf %s ${content} > ${path}` }),
    edits: (path, before, after) => [
      { tool: 'exec_command', args: { cmd: `cat ${path}` } },
      { tool: 'exec_command', args: { cmd: `sed -i s/${before}/${after}/ ${path}` } },
      // To the models of its table it offers a tool that runs scripts.
      { tool: 'exec', namespace: 'functions', args: `text(await tools.exec_command({ cmd: 'cat ${path}' }))` },
      {
        tool: 'exec',
        namespace: 'functions',
        args: `await tools.exec_command({ cmd: 'sed -i s/${before}/${after}/ ${path}' })`,
      },
    ],
    structured: (prompt, file) => `codex exec --skip-git-repo-check --output-schema ${file} ${quoted(prompt)}`,
    foreignModel: 'anthropic/claude-sonnet-5',
    lacks: {},
  },
  {
    name: 'opencode',
    title: 'opencode',
    from: { npm: 'opencode-ai' },
    translatedModel: 'messages/echo',
    // As an argument it would come with its quotes escaped.
    once: (prompt, ahead = '') => `printf %s ${quoted(prompt)} | ${ahead}opencode run --auto`,
    again: (prompt) => `printf %s ${quoted(prompt)} | opencode run --auto --continue`,
    writes: (path, content) => call('write', { filePath: path, content }),
    edits: (path, before, after) => [
      { tool: 'read', args: { filePath: path } },
      // To models of OpenAI it offers no tool that edits.
      { tool: 'bash', args: { command: `sed -i s/${before}/${after}/ ${path}`, description: 'Changes a word.' } },
    ],
    foreignModel: 'anthropic/claude-sonnet-5',
    excused: RETRIES_502,
    lacks: { 'structured output': 'no option' },
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    from: { npm: '@qwen-code/qwen-code' },
    translatedModel: 'messages/echo',
    once: (prompt, ahead = '') => `${ahead}qwen --approval-mode yolo -p ${quoted(prompt)}`,
    again: (prompt) => `qwen --continue -p ${quoted(prompt)}`,
    writes: (path, content) => call('write_file', { file_path: path, content }),
    structured: (prompt, file) => `qwen --json-schema @${file} -p ${quoted(prompt)}`,
    structuredPrompt: `Do this: ${call('structured_output', CITY)}`,
    edits: (path, before, after) => [
      { tool: 'read_file', args: { file_path: path, absolute_path: path } },
      { tool: 'edit', args: { file_path: path, old_string: before, new_string: after } },
    ],
    foreignModel: 'anthropic/claude-sonnet-5',
    excused: RETRIES_502,
    lacks: {},
  },
  {
    name: 'aider',
    title: 'aider',
    from: { pip: 'aider-chat' },
    translatedModel: 'messages/echo',
    once: (prompt, ahead = '') =>
      `${ahead}aider --yes-always${ahead === '' ? ' --no-git' : ''} --no-check-update --no-analytics --message ${quoted(prompt)}`,
    again: (prompt) =>
      `aider --yes-always --no-git --no-check-update --no-analytics --restore-chat-history --message ${quoted(prompt)}`,
    writes: () => '',
    // It adds a file that the model names, and asks again.
    texts: ['Please add note.txt to the chat.', 'note.txt\n```\nIt was good after that.\n```\n'],
    prepares: 'git init -q . && git add note.txt && git -c user.name=a -c user.email=a@b.example commit -qm before',
    foreignModel: 'anthropic/claude-sonnet-5',
    excused: { ...RETRIES_502, 'spent budget': 'retries a 402' },
    lacks: { tools: 'not used: edits are text', 'structured output': 'no option' },
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    from: { npm: '@google/gemini-cli' },
    translatedModel: 'messages/echo',
    setUp: () => written('~/.gemini/settings.json', '{ "security": { "auth": { "selectedType": "gemini-api-key" } } }'),
    once: (prompt, ahead = '') => `${ahead}gemini --skip-trust --approval-mode yolo -p ${quoted(prompt)}`,
    again: (prompt) => `gemini --skip-trust --approval-mode yolo --resume latest -p ${quoted(prompt)}`,
    writes: (path, content) => call('write_file', { file_path: path, content }),
    edits: (path, before, after) => [
      { tool: 'read_file', args: { file_path: path } },
      {
        tool: 'replace',
        args: { file_path: path, instruction: 'Change a word.', old_string: before, new_string: after },
      },
    ],
    foreignModel: 'google/gemini-3.6-flash',
    lacks: { 'structured output': 'no option' },
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    from: { npm: '@github/copilot' },
    translatedModel: 'messages/echo',
    once: (prompt, ahead = '') => `${ahead}copilot --allow-all-tools -p ${quoted(prompt)}`,
    again: (prompt) => `copilot --allow-all-tools --continue -p ${quoted(prompt)}`,
    writes: (path, content) =>
      call('bash', { command: `printf %s ${content} > ${path}`, description: 'Writes a file.' }),
    edits: (path, before, after) => [
      { tool: 'view', args: { path } },
      { tool: 'edit', args: { path, old_str: before, new_str: after } },
    ],
    foreignModel: 'anthropic/claude-sonnet-5',
    lacks: { 'structured output': 'no option' },
  },
  {
    name: 'pi',
    title: 'pi',
    from: { npm: '@mariozechner/pi-coding-agent' },
    translatedModel: 'messages/echo',
    once: (prompt, ahead = '') => `${ahead}pi -p ${quoted(prompt)}`,
    again: (prompt) => `pi --continue -p ${quoted(prompt)}`,
    writes: (path, content) => call('bash', { command: `printf %s ${content} > ${path}` }),
    edits: (path, before, after) => [
      { tool: 'read', args: { path } },
      { tool: 'edit', args: { path, edits: [{ oldText: before, newText: after }] } },
    ],
    foreignModel: 'anthropic/claude-sonnet-5',
    excused: RETRIES_502,
    lacks: { 'structured output': 'no option' },
  },
  {
    name: 'droid',
    title: 'droid',
    from: { npm: 'droid' },
    translatedModel: 'messages/echo',
    once: (prompt, ahead = '') => `${ahead}droid exec --auto low ${quoted(prompt)}`,
    again: (prompt) => `droid exec --auto low ${quoted(prompt)}`,
    writes: (path, content) => call('Create', { file_path: path, content }),
    edits: (path, before, after) => [
      { tool: 'Read', args: { file_path: path } },
      {
        tool: 'Execute',
        args: {
          ...{ summary: 'Change a word', command: `sed -i s/${before}/${after}/ ${path}`, timeout: 10 },
          ...{ riskLevel: 'low', riskLevelReason: 'It changes one file.' },
        },
      },
    ],
    foreignModel: 'anthropic/claude-sonnet-5',
    excused: RETRIES_502,
    lacks: { 'two turns': 'continues a session only by its id', 'structured output': 'no option' },
  },
  {
    name: 'cline',
    title: 'Cline',
    from: { npm: 'cline' },
    translatedModel: 'messages/echo',
    setUp: ({ url, key, model }) => `cline auth -p openai-compatible -b ${url}/v1 -k ${key} -m ${model} > auth.log`,
    once: (prompt, ahead = '') => `${ahead}cline ${quoted(prompt)}`,
    again: (prompt) => `cline ${quoted(prompt)}`,
    writes: (path, content) => call('run_commands', { commands: [`printf %s ${content} > ${path}`] }),
    lacks: {
      'two turns': 'continues a task only on a terminal',
      'structured output': 'no option',
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
    once: (prompt, ahead = '') => `${ahead}cn --auto -p ${quoted(prompt)}`,
    again: (prompt) => `cn --auto --resume -p ${quoted(prompt)}`,
    writes: (path, content) => call('Bash', { command: `printf %s ${content} > ${path}` }),
    lacks: { 'structured output': 'no option' },
  },
];
