/** Where Google's Vertex AI is, and what the names of its models say. */
import { type DialectName, VERTEX_DIALECTS } from './dialects.ts';

/** Locations of several regions, whose hosts have names of another form. */
const MULTI_REGIONS: ReadonlySet<string> = new Set(['us', 'eu']);

/** The base URL of a project. `region`: as Google names it, a location of several (`us`, `eu`), or `global`. */
export function vertexAddress(project: string, region: string): string {
  return `https://${hostOf(region)}/v1/projects/${project}/locations/${region}`;
}

function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com';
  return MULTI_REGIONS.has(region) ? `aiplatform.${region}.rep.googleapis.com` : `${region}-aiplatform.googleapis.com`;
}

/** `claude-sonnet-4-5@20250929`: the publisher is in the path, and not in the name. */
export function isClaudeAtVertex(model: string): boolean {
  return model.startsWith('claude');
}

/** `text-embedding-005`, `gemini-embedding-2`, and not those of images, which are asked otherwise. */
function isForEmbeddings(model: string): boolean {
  return /^text-?embedding-|-embedding-/.test(model);
}

/** Whether Google embeds one text with each request (`:embedContent`), by the rule of its own client (`@google/genai` 3.1.0). */
export function isEmbeddedAlone(model: string): boolean {
  return model.includes('gemini') && model !== 'gemini-embedding-001';
}

/** What a host speaks to a model. `among`: what the config says of all; undefined if nothing. */
export function vertexDialectsOf(
  model: string,
  among: readonly DialectName[] = VERTEX_DIALECTS,
): readonly DialectName[] {
  if (among.length === 1) return among;
  if (isForEmbeddings(model)) return ['vertex_embeddings'];
  return [isClaudeAtVertex(model) ? 'messages' : 'gemini'];
}
