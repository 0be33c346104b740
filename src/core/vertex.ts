/** Google's Vertex AI: host addresses and model names. */
import { type DialectName, VERTEX_DIALECTS } from './dialects.ts';

/** Multi-region locations, whose host names have a different form. */
const MULTI_REGIONS: ReadonlySet<string> = new Set(['us', 'eu']);

/** Returns the base URL of a project. `region`: a region, a multi-region location (`us`, `eu`), or `global`. */
export function vertexAddress(project: string, region: string): string {
  return `https://${hostOf(region)}/v1/projects/${project}/locations/${region}`;
}

function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com';
  return MULTI_REGIONS.has(region) ? `aiplatform.${region}.rep.googleapis.com` : `${region}-aiplatform.googleapis.com`;
}

/** Matches `claude-sonnet-4-5@20250929`: the name does not contain the publisher, which is in the path. */
export function isClaudeAtVertex(model: string): boolean {
  return model.startsWith('claude');
}

/** Matches `text-embedding-005` and `gemini-embedding-2`, but not multimodal embedding models, whose API differs. */
function isForEmbeddings(model: string): boolean {
  return /^text-?embedding-|-embedding-/.test(model);
}

/**
 * Reports whether Google embeds one text per request (`:embedContent`), by the rule of its own client (`@google/genai` 3.1.0).
 */
export function isEmbeddedAlone(model: string): boolean {
  return model.includes('gemini') && model !== 'gemini-embedding-001';
}

/** Returns the dialects of the host for a model. `among`: the configured dialects; all dialects of Vertex AI by default. */
export function vertexDialectsOf(
  model: string,
  among: readonly DialectName[] = VERTEX_DIALECTS,
): readonly DialectName[] {
  if (among.length === 1) return among;
  if (isForEmbeddings(model)) return ['vertex_embeddings'];
  return [isClaudeAtVertex(model) ? 'messages' : 'gemini'];
}
