/** Validates a request to generate content, and extracts the fields that the gateway acts on. */
import { isObject, objectOf } from '../../core/json.ts';
import type { AskedModality, Modality } from '../../core/modalities.ts';
import { printableName } from '../../core/printable.ts';
import type { JsonBody } from '../../wire/body.ts';
import {
  type Check,
  type Checks,
  caseVariant,
  firstProblem,
  flag,
  number,
  PRICED,
  refused,
  text,
  wholeNumber,
} from '../checks.ts';
import type { Checked, Dialect, Fields } from '../dialect.ts';
import { askedModalities, modalitiesCheck } from '../modalities.ts';
import { textRequest } from '../text-request.ts';
import { hiddenThinkingOfGemini } from '../thinking.ts';
import { configOf, listOf } from './gemini-fields.ts';
import { AUDIO_BYTES_PER_TOKEN } from './gemini-output.ts';
import { hostToolsOf, toolProblem } from './gemini-tools.ts';

/** Several times the limit of any host. */
const MAX_CONTENTS = 100_000;
const ROLES: readonly unknown[] = [undefined, null, 'user', 'model', 'function'];
/** Roles of instructions. Hosts ignore them and clients vary, but longer text must not hide there. */
const INSTRUCTION_ROLES: readonly unknown[] = [...ROLES, 'system', 'developer'];

/** `body`: from `placedBody`. */
export function checkGemini(dialect: Dialect, body: JsonBody, model: string): Checked {
  const { fields } = body;
  const problem = problemWith(body) ?? firstProblem(fields, CHECKS) ?? configProblem(fields) ?? toolProblem(fields);
  if (problem !== undefined) return { ok: false, problem };
  const config = configOf(fields);
  const maximum = (config.maxOutputTokens ?? undefined) as number | undefined;
  return {
    ok: true,
    request: textRequest(dialect, body, model, maximum, {
      choices: (config.candidateCount ?? 1) as number,
      serviceTier: tierOf(fields.serviceTier),
      hiddenThinking: hiddenThinkingOfGemini(config.thinkingConfig),
      asked: askedIn(config),
      audioBytesPerToken: AUDIO_BYTES_PER_TOKEN,
      // A host may cache any prompt on its own.
      cacheWrite: '5m',
      hostTools: hostToolsOf(fields),
    }),
  };
}

const STATE = 'a name for what the provider keeps, which all keys would share';
const STORED = 'the provider would write the answer into a store of its own; leave it out';
const OTHER_MODEL = 'it may have the host answer with another model than the one that is billed; leave it out';

/** Maxima of other formats, in the spelling of this one. */
const MAXIMA = ['maxOutputTokens', 'maxTokens', 'maxCompletionTokens'];
const MISPLACED = 'a field of another format; this one has generationConfig.maxOutputTokens';

const CHECKS: Checks = Object.entries<Check>({
  contents: checkContents,
  systemInstruction: checkInstruction,
  generationConfig: object('generationConfig'),
  tools: (value) => {
    const invalid = listOf(value).findIndex((tool) => !isObject(tool));
    return invalid < 0 ? undefined : `tools[${invalid}]: expected an object`;
  },
  toolConfig: object('toolConfig'),
  cachedContent: refused('cachedContent', `${STATE}; send the contents themselves`),
  continuationToken: refused('continuationToken', `${STATE}; send the contents themselves`),
  serviceTier: text('serviceTier'),
  store: checkStore,
  // One name is from the documentation, the other from Google's clients.
  generationOutputConfig: refused('generationOutputConfig', STORED),
  outputConfig: refused('outputConfig', STORED),
  modelArmorConfig: refused('modelArmorConfig', PRICED),
  stream: flag('stream'),
  ...Object.fromEntries(MAXIMA.map((name) => [name, refused(name, MISPLACED)])),
});

const CONFIG_CHECKS: Checks = Object.entries<Check>({
  maxOutputTokens: wholeNumber('generationConfig.maxOutputTokens', 1),
  candidateCount: wholeNumber('generationConfig.candidateCount', 1, 128),
  temperature: number('generationConfig.temperature', 0, 2),
  topP: number('generationConfig.topP', 0, 1),
  thinkingConfig: object('generationConfig.thinkingConfig'),
  responseModalities: (value, fields) => checkModalities(value === undefined ? undefined : listOf(value), fields),
  responseFormat: checkFormats,
  imageConfig: checkImageConfig,
  routingConfig: refused('generationConfig.routingConfig', OTHER_MODEL),
  modelSelectionConfig: refused('generationConfig.modelSelectionConfig', OTHER_MODEL),
  modelConfig: refused('generationConfig.modelConfig', OTHER_MODEL),
});

const ACTED_ON: ReadonlySet<string> = new Set(['model', ...CHECKS.map(([name]) => name)]);
const ACTED_ON_IN_CONFIG: ReadonlySet<string> = new Set(CONFIG_CHECKS.map(([name]) => name));

function problemWith({ fields, members }: JsonBody): string | undefined {
  const names = members.map(({ key }) => key);
  return (
    caseVariant('', names, ACTED_ON) ??
    caseVariant('generationConfig.', Object.keys(configOf(fields)), ACTED_ON_IN_CONFIG)
  );
}

function configProblem(fields: Fields): string | undefined {
  return firstProblem(configOf(fields), CONFIG_CHECKS);
}

function object(name: string): Check {
  return (value) => (value === undefined || isObject(value) ? undefined : `${name}: expected an object`);
}

function checkContents(value: unknown): string | undefined {
  const contents = listOf(value);
  if (contents.length === 0) return 'contents: expected an array of at least one content';
  if (contents.length > MAX_CONTENTS) return `contents: expected an array of at most ${MAX_CONTENTS} contents`;
  for (const [index, content] of contents.entries()) {
    const problem = contentProblem(content, `contents[${index}]`);
    if (problem !== undefined) return problem;
    const isSaid = ROLES.includes((content as Fields).role);
    if (!isSaid) return `contents[${index}].role: expected user or model`;
  }
  return undefined;
}

/** Refuses every value but false, since some hosts convert strings to booleans. */
function checkStore(value: unknown): string | undefined {
  if (value === undefined || value === false) return undefined;
  return 'store: the provider would keep it for all keys of this gateway; leave it out, or set it to false';
}

function checkInstruction(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const problem = contentProblem(value, 'systemInstruction');
  if (problem !== undefined) return problem;
  return INSTRUCTION_ROLES.includes((value as Fields).role)
    ? undefined
    : 'systemInstruction.role: expected system, or none';
}

function contentProblem(content: unknown, where: string): string | undefined {
  if (!isObject(content)) return `${where}: expected an object with parts`;
  for (const [index, part] of listOf(content.parts).entries()) {
    const at = `${where}.parts[${index}]`;
    if (!isObject(part)) return `${at}: expected an object, such as { "text": "…" }`;
    const resolution = objectOf(part.mediaResolution);
    if ((resolution.numTokens ?? undefined) !== undefined) {
      return `${at}.mediaResolution.numTokens: no tokens are held by it; say a level`;
    }
  }
  return undefined;
}

const checkModalities = modalitiesCheck('generationConfig.responseModalities', 'TEXT, AUDIO or IMAGE');

/** Settings that change images, but not their number. */
const IMAGE_SETTINGS: ReadonlySet<string> = new Set([
  ...['aspectRatio', 'imageSize', 'personGeneration', 'prominentPeople', 'imageOutputOptions'],
]);

function checkImageConfig(value: unknown): string | undefined {
  if (value !== undefined && !isObject(value)) return 'generationConfig.imageConfig: expected an object';
  const other = Object.keys(objectOf(value)).find((name) => !IMAGE_SETTINGS.has(name));
  return other && `generationConfig.imageConfig.${printableName(other)}: ${PRICED}`;
}

/** Refuses formats other than text: clients request speech and images by `responseModalities`. */
function checkFormats(value: unknown): string | undefined {
  const isText = (format: unknown) => isObject(format) && Object.keys(format).every((kind) => kind === 'text');
  return listOf(value).every(isText) ? undefined : 'generationConfig.responseFormat: expected only text';
}

/** Returns the service tier; undefined for the standard one. */
function tierOf(tier: unknown): string | undefined {
  const name = typeof tier === 'string' ? tier.toLowerCase() : 'unspecified';
  return name === 'unspecified' || name === 'standard' ? undefined : name;
}

function askedIn({ responseModalities, speechConfig, imageConfig }: Fields): readonly AskedModality[] {
  const asked = askedModalities(listOf(responseModalities), 'generationConfig.responseModalities');
  const set: readonly (readonly [modality: Modality, config: unknown, name: string])[] = [
    ['audio', speechConfig, 'speechConfig'],
    ['image', imageConfig, 'imageConfig'],
  ];
  const others = set
    .filter(([modality, config]) => isObject(config) && !asked.some((each) => each.modality === modality))
    .map(([modality, , name]) => ({ modality, field: `generationConfig.${name}` }));
  return [...asked, ...others];
}
