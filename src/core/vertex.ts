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

/** `claude-sonnet-4-5@20250929`: the publisher stands in the path, and not in the name. */
export function isClaudeAtVertex(model: string): boolean {
  return model.startsWith('claude');
}

/** What a host speaks to a model. `among`: what the config says of all; undefined if nothing. */
export function vertexDialectsOf(
  model: string,
  among: readonly DialectName[] = VERTEX_DIALECTS,
): readonly DialectName[] {
  return among.length === 1 ? among : [isClaudeAtVertex(model) ? 'messages' : 'gemini'];
}
