/** The config fields of the state's location and this gateway's name. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { ListenAddress } from '../core/address.ts';
import { isPostgresAddress, parsePostgresAddress } from '../core/postgres-address.ts';
import { isPrintable, replaceUnprintable } from '../core/printable.ts';
import type { StateLocation } from '../core/state-location.ts';
import { expandField, type ReferenceSource } from './secrets.ts';

type Report = (message: string) => void;

const ANY_SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;
/** In Unicode code points. */
const MAX_NODE_CHARACTERS = 64;
/** Leaves room for a colon and a port. */
const MAX_HOST_CHARACTERS = MAX_NODE_CHARACTERS - 6;

/** Resolves the location of the state. If it reports a problem, the result must not be used. */
export function buildState(text: string, source: ReferenceSource, report: Report): StateLocation {
  // In the path of a file, a lone $ is an ordinary character.
  const hasReferences = text.includes('${') || isPostgresAddress(text);
  const value = hasReferences ? expandRequired(text, source, report) : text;
  if (isPostgresAddress(value)) {
    const parsed = parsePostgresAddress(value, source.baseDirectory);
    if (parsed.kind === 'address') return { kind: 'postgres', address: parsed.address };
    report(parsed.problem);
  } else if (ANY_SCHEME.test(value)) {
    report('expected the path of a file, or postgres://user:password@host:5432/database');
  }
  return { kind: 'file', path: resolve(source.baseDirectory, value) };
}

/** The name of this gateway among the gateways of a shared state. */
export function buildNode(
  text: string | undefined,
  listen: ListenAddress,
  source: ReferenceSource,
  report: Report,
): string {
  if (text === undefined) return `${replaceUnprintable(hostname()).slice(0, MAX_HOST_CHARACTERS)}:${listen.port}`;
  const value = expandRequired(text, source, report);
  if ([...value].length > MAX_NODE_CHARACTERS || !isPrintable(value) || value !== value.trim()) {
    report(`expected a name of 1 to ${MAX_NODE_CHARACTERS} printable characters, with no blanks around it`);
  }
  return value;
}

/** A field with its references expanded; empty, with a report, if one cannot be expanded. */
function expandRequired(text: string, source: ReferenceSource, report: Report): string {
  const { value, missingVariable } = expandField(text, source, report);
  if (missingVariable !== undefined) report(`the variable ${missingVariable} is not set`);
  return value;
}
