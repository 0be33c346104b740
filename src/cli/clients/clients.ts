/** The clients that `run` and `env` know, with the variables and arguments for address, key and models. Pure. */
import { basename } from 'node:path';
import { type Chooser, type ModelChoice, nameIn } from './choice.ts';

/** The configuration to give to a client. */
export interface Setup {
  /** The address of the gateway, without a path: `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly key: string;
  /** Undefined if no model fits: then the client keeps its own. */
  readonly models: ModelChoice | undefined;
}

/** A file that a client reads instead of its own configuration. */
export interface ClientFile {
  /** The variable that names the file or its folder. */
  readonly variable: string;
  readonly variableNames?: 'file';
  readonly name: string;
  readonly text: string;
  /** The file's usual location. */
  readonly own: string;
  /**
   * Other contents of that folder that must stay the user's: the variable that names it, and its path in the home folder.
   */
  readonly kept?: { readonly variable: string; readonly name: string };
}

export interface Client extends Chooser {
  /** The name of its command. */
  readonly name: string;
  readonly title: string;
  /** The variable with which its user chooses a model, if there is one. */
  readonly modelVariable?: string;
  /** Whether it uses a second model for titles, summaries and similar small tasks. */
  readonly usesSmall?: true;
  /** Variables that conflict with its configuration, above all variables that bypass the gateway. */
  readonly without?: readonly string[];
  /** The context window that it assumes for a model without `context_window`. */
  readonly assumesContext?: number;
  variables(setup: Setup): Readonly<Record<string, string>>;
  /** Arguments, placed before the user's. */
  words?(setup: Setup): readonly string[];
  file?(setup: Setup): ClientFile;
}

/** The variable with the key, for clients whose configuration names such a variable. */
export const KEY_VARIABLE = 'INF_GW_KEY';
/** The name of the gateway in the configuration of clients. */
const PROVIDER = 'inf-gw';

/** The models in the table of Codex 0.169, which gives them `apply_patch`, reasoning efforts and instructions of their own. */
const KNOWN_TO_CODEX = [
  ...['gpt-6-luna', 'gpt-6-sol', 'gpt-6.1-sol', 'gpt-6.1-terra', 'gpt-6-astra'],
  ...['gpt-5.6-luna', 'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.5'],
];

export const CLIENTS: readonly Client[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    dialect: 'messages',
    modelVariable: 'ANTHROPIC_MODEL',
    usesSmall: true,
    assumesContext: 1_000_000,
    without: [
      // It asks the user before it uses this variable.
      'ANTHROPIC_API_KEY',
      // With one of these, it uses another host regardless of its Anthropic address.
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_MANTLE',
      'CLAUDE_CODE_USE_ANTHROPIC_AWS',
      'CLAUDE_CODE_USE_VERTEX',
      'CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD',
      'CLAUDE_CODE_USE_FOUNDRY',
      'CLAUDE_CODE_USE_GATEWAY',
      // The addresses of those hosts, and other routes to its own.
      'ANTHROPIC_BEDROCK_BASE_URL',
      'ANTHROPIC_BEDROCK_MANTLE_BASE_URL',
      'ANTHROPIC_AWS_BASE_URL',
      'ANTHROPIC_VERTEX_BASE_URL',
      'ANTHROPIC_FOUNDRY_BASE_URL',
      'ANTHROPIC_FOUNDRY_RESOURCE',
      'ANTHROPIC_UNIX_SOCKET',
      'CLAUDE_CODE_API_BASE_URL',
    ],
    variables: ({ url, key, models }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      // It lists the gateway's models and its own in `/model`.
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
      ...(models && {
        ANTHROPIC_MODEL: models.main.id,
        ANTHROPIC_DEFAULT_OPUS_MODEL: models.main.id,
        ANTHROPIC_DEFAULT_SONNET_MODEL: models.main.id,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: models.small.id,
      }),
      // Applies only to models whose names Claude Code does not know.
      ...(models?.main.contextWindow !== undefined && {
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(models.main.contextWindow),
      }),
    }),
  },
  {
    name: 'codex',
    title: 'Codex',
    dialect: 'responses',
    knownModels: KNOWN_TO_CODEX,
    variables: ({ key }) => ({ [KEY_VARIABLE]: key }),
    // It reads only the variable of the key.
    words: ({ url, models }) => {
      const provider = { name: PROVIDER, base_url: `${url}/v1`, env_key: KEY_VARIABLE, wire_api: 'responses' };
      return overrides({
        model_provider: PROVIDER,
        ...Object.fromEntries(
          Object.entries(provider).map(([name, value]) => [`model_providers.${PROVIDER}.${name}`, value]),
        ),
        ...(models && { model: models.main.id }),
        // Codex uses the gateway's table instead of its own, so it is given only for a model that its own table lacks.
        ...(models &&
          !KNOWN_TO_CODEX.includes(nameIn(models.main.id)) && {
            [`model_providers.${PROVIDER}.model_catalog_url`]: `${url}/v1/models`,
          }),
        ...(models?.main.contextWindow !== undefined && { model_context_window: models.main.contextWindow }),
      });
    },
  },
  {
    name: 'opencode',
    title: 'opencode',
    dialect: 'chat',
    usesSmall: true,
    variables: ({ url, key, models }) => ({
      [KEY_VARIABLE]: key,
      ...(models && {
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          model: `${PROVIDER}/${models.main.id}`,
          small_model: `${PROVIDER}/${models.small.id}`,
          provider: {
            [PROVIDER]: {
              npm: '@ai-sdk/openai-compatible',
              options: { baseURL: `${url}/v1`, apiKey: `{env:${KEY_VARIABLE}}` },
              models: Object.fromEntries(
                [models.main, models.small].map((model) => [
                  model.id,
                  { limit: { context: contextOf(model), output: outputOf(model) } },
                ]),
              ),
            },
          },
        }),
      }),
    }),
  },
  {
    name: 'aider',
    title: 'aider',
    dialect: 'chat',
    usesSmall: true,
    // Its options as variables take precedence over the library's variables, and a model name may select another host.
    without: [
      'AIDER_OPENAI_API_BASE',
      'AIDER_OPENAI_API_KEY',
      'AIDER_OPENAI_API_TYPE',
      'AIDER_API_KEY',
      'AIDER_SET_ENV',
      'AIDER_EDITOR_MODEL',
    ],
    variables: ({ url, key, models }) => ({
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: key,
      // The first part of the name selects the dialect.
      ...(models && {
        AIDER_MODEL: `openai/${models.main.id}`,
        AIDER_WEAK_MODEL: `openai/${models.small.id}`,
        AIDER_SHOW_MODEL_WARNINGS: 'false',
      }),
    }),
  },
  {
    name: 'goose',
    title: 'goose',
    dialect: 'chat',
    modelVariable: 'GOOSE_MODEL',
    // Each of its tasks may use a separate host.
    without: ['GOOSE_LEAD_PROVIDER', 'GOOSE_PLANNER_PROVIDER', 'GOOSE_SUBAGENT_PROVIDER'],
    variables: ({ url, key, models }) => ({
      OPENAI_HOST: url,
      OPENAI_BASE_PATH: 'v1/chat/completions',
      OPENAI_API_KEY: key,
      GOOSE_PROVIDER: 'openai',
      ...(models && { GOOSE_MODEL: models.main.id }),
    }),
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    dialect: 'chat',
    modelVariable: 'OPENAI_MODEL',
    variables: ({ url, key, models }) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
      ...(models && { OPENAI_MODEL: models.main.id }),
    }),
    words: () => ['--auth-type', 'openai'],
  },
  {
    name: 'crush',
    title: 'Crush',
    dialect: 'chat',
    usesSmall: true,
    variables: ({ key }) => ({ [KEY_VARIABLE]: key }),
    // It reads models of other vendors only from a file.
    file: ({ url, models }) => ({
      variable: 'CRUSH_GLOBAL_CONFIG',
      name: 'crush.json',
      own: '~/.config/crush/crush.json',
      text: JSON.stringify({
        ...(models && {
          models: {
            large: { provider: PROVIDER, model: models.main.id },
            small: { provider: PROVIDER, model: models.small.id },
          },
        }),
        providers: {
          [PROVIDER]: {
            type: 'openai-compat',
            base_url: `${url}/v1`,
            api_key: `$${KEY_VARIABLE}`,
            models: [...new Set(models && [models.main, models.small])].map((model) => ({
              id: model.id,
              name: model.id,
              context_window: contextOf(model),
              default_max_tokens: outputOf(model),
            })),
          },
        },
      }),
    }),
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    dialect: 'chat',
    modelVariable: 'COPILOT_MODEL',
    // These select another key, model or route to the host.
    without: [
      'COPILOT_PROVIDER_API_KEY_COMMAND',
      'COPILOT_PROVIDER_BEARER_TOKEN',
      'COPILOT_PROVIDER_HEADERS',
      'COPILOT_PROVIDER_MODEL_ID',
      'COPILOT_PROVIDER_TRANSPORT',
      'COPILOT_PROVIDER_WIRE_MODEL',
    ],
    variables: ({ url, key, models }) => ({
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_WIRE_API: 'completions',
      COPILOT_PROVIDER_API_KEY: key,
      ...(models && {
        COPILOT_MODEL: models.main.id,
        COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(contextOf(models.main)),
        COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: String(outputOf(models.main)),
      }),
    }),
  },
  {
    name: 'pi',
    title: 'pi',
    dialect: 'chat',
    variables: ({ key }) => ({ [KEY_VARIABLE]: key }),
    words: ({ models }) => (models ? ['--provider', PROVIDER, '--model', models.main.id] : []),
    // It reads models of other vendors only from a file.
    file: ({ url, models }) => ({
      variable: 'PI_CODING_AGENT_DIR',
      name: 'models.json',
      own: '~/.pi/agent/models.json',
      text: JSON.stringify({
        providers: {
          [PROVIDER]: {
            baseUrl: `${url}/v1`,
            api: 'openai-completions',
            apiKey: KEY_VARIABLE,
            models: (models ? [models.main] : []).map((model) => ({
              id: model.id,
              contextWindow: contextOf(model),
              maxTokens: outputOf(model),
            })),
          },
        },
      }),
    }),
  },
  {
    name: 'droid',
    title: 'droid',
    dialect: 'chat',
    variables: ({ key }) => ({ [KEY_VARIABLE]: key }),
    // These settings take precedence over the user's. Sessions stay at their location.
    file: ({ url, models }) => ({
      variable: 'FACTORY_RUNTIME_SETTINGS_PATH',
      variableNames: 'file',
      name: 'settings.json',
      own: '~/.factory/settings.json',
      text: JSON.stringify({
        customModels: (models ? [models.main] : []).map((model) => ({
          model: model.id,
          displayName: PROVIDER,
          baseUrl: `${url}/v1`,
          apiKey: `\${${KEY_VARIABLE}}`,
          provider: 'generic-chat-completion-api',
          maxOutputTokens: outputOf(model),
          maxContextLimit: contextOf(model),
        })),
        // The first of the models above.
        ...(models && { sessionDefaultSettings: { model: `custom:${PROVIDER}-0` } }),
      }),
    }),
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    dialect: 'gemini',
    modelVariable: 'GEMINI_MODEL',
    without: [
      // With one of these, it uses another host or another key.
      'GOOGLE_GENAI_USE_VERTEXAI',
      'GOOGLE_GENAI_USE_GCA',
      'GEMINI_CLI_USE_COMPUTE_ADC',
      'GOOGLE_API_KEY',
      'GOOGLE_VERTEX_BASE_URL',
      'GOOGLE_GENAI_API_VERSION',
    ],
    variables: ({ url, key, models }) => ({
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: key,
      ...(models && { GEMINI_MODEL: models.main.id }),
    }),
    // The user's settings may select an account, which bypasses the gateway. Without a method of authentication, it does not
    // start with a key.
    file: () => ({
      variable: 'GEMINI_CLI_HOME',
      name: '.gemini/settings.json',
      own: '~/.gemini/settings.json',
      text: JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }),
      // Without a terminal, it refuses to work in a folder that the user has not trusted.
      kept: { variable: 'GEMINI_CLI_TRUSTED_FOLDERS_PATH', name: '.gemini/trustedFolders.json' },
    }),
  },
];

/** Warns if the client would assume a larger context than the model may have; undefined otherwise. */
export function contextNote({ title, assumesContext }: Client, models: ModelChoice): string | undefined {
  if (assumesContext === undefined || models.main.contextWindow !== undefined) return undefined;
  const tokens = assumesContext.toLocaleString('en');
  return `note: ${models.main.id} has no context_window in the config, so ${title} assumes ${tokens} tokens and may compact too late; set context_window there`;
}

/** The client with this command, by the last part of its path. */
export function clientOf(file: string): Client | undefined {
  const name = basename(file);
  return CLIENTS.find((client) => client.name === name);
}

/** Without a value in the config: the minimum for agents, which most models support. In tokens. */
const CONTEXT = 128_000;
/** Agents declare this maximum for each response, and all of it is held. In tokens. */
const MOST_OUTPUT = 32_000;

function contextOf({ contextWindow = CONTEXT }: ModelChoice['main']): number {
  return contextWindow;
}

function outputOf({ maxOutput = MOST_OUTPUT }: ModelChoice['main']): number {
  return Math.min(maxOutput, MOST_OUTPUT);
}

/** A TOML value. JSON has the same form for texts and numbers. */
function overrides(values: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]);
}
