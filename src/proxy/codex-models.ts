/** The `models` field of the listing, which Codex reads instead of its built-in model table. */
import type { Model } from '../catalog/catalog.ts';
import { traitsOf } from '../catalog/model-traits.ts';

/** The query parameter with which Codex requests this field. */
export const CODEX_QUERY = 'client_version';

/** Codex sends these instead of its built-in instructions: an entry without them is invalid. */
const INSTRUCTIONS = `You are a coding agent. You run in Codex, in the terminal of a developer, and share its working folder.

- Read the code that a task concerns before you change it. Follow its conventions, and keep the change as small as the task allows.
- Search with \`rg\`. Edit files with \`apply_patch\` if you have that tool, otherwise with shell commands.
- Obey the AGENTS.md files between the root of the repository and each file that you change. A deeper one overrides the others.
- Leave changes alone that you did not make. Do not commit or create branches unless you are asked to.
- Run the tests, or another check, before you report success. Report truthfully if you could not.
- Work until the task is done. Ask only if you cannot decide yourself.
- End with a short summary: the files that changed, and the result of the check.`;

const EFFORTS = [
  { effort: 'low', description: 'Short reasoning' },
  { effort: 'medium', description: 'Balanced reasoning' },
  { effort: 'high', description: 'Long reasoning' },
];

/** The context window that Codex assumes for an unknown model, in tokens. */
const CONTEXT_WINDOW = 272_000;
/** Maximum length of command output that Codex returns to the model, in tokens. */
const COMMAND_OUTPUT = 10_000;

/** The entry of a model, in the format of Codex 0.169. `index`: its position in the list. */
export function codexModel(name: string, model: Model, index: number): object {
  const reasons = !model.ignoreFields.includes('reasoning_effort');
  const window = model.contextWindow ?? CONTEXT_WINDOW;
  return {
    slug: name,
    display_name: name,
    description: null,
    supported_reasoning_levels: reasons ? EFFORTS : [],
    default_reasoning_level: reasons && traitsOf(model).thinks ? 'medium' : null,
    supports_reasoning_summaries: reasons,
    shell_type: 'shell_command',
    apply_patch_tool_type: 'freeform',
    supports_parallel_tool_calls: true,
    support_verbosity: false,
    default_verbosity: null,
    visibility: 'list',
    supported_in_api: true,
    priority: index,
    availability_nux: null,
    upgrade: null,
    base_instructions: INSTRUCTIONS,
    context_window: window,
    max_context_window: window,
    truncation_policy: { mode: 'tokens', limit: COMMAND_OUTPUT },
    input_modalities: model.reads?.includes('image') === false ? ['text'] : ['text', 'image'],
    experimental_supported_tools: [],
  };
}
