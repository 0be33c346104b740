/** The agents of the campaign: how each is installed, started, and made to do what it is asked. */
import type { Feature } from './features.ts';

export interface Agent {
  /** The command, as `inf-gw env` knows it. */
  readonly name: string;
  readonly title: string;
  /** The package, by its installer. */
  readonly from: { readonly npm: string } | { readonly pip: string };
  /** The model of a host that speaks another dialect. */
  readonly translatedModel: string;
  /** The command line for one prompt. */
  once(prompt: string): string;
  /** The same, in the session of the last one. */
  again(prompt: string): string;
  /** What makes the mock call the tool that writes a file. */
  writes(path: string, content: string): string;
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
];
