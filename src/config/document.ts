/** Reads YAML files, and reports each problem with its line and column. */
import { type Document, isMap, isNode, isPair, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type * as z from 'zod';
import { UserError } from '../core/errors.ts';

/** Records a problem: the path of the field, and the expected value. */
export type AddProblem = (path: PropertyKey[], message: string) => void;

export interface DocumentText {
  readonly text: string;
  /** The name of the file in messages. */
  readonly shownPath: string;
}

/** The records of a check. */
export interface Problems {
  /** Problems of this file. */
  readonly add: AddProblem;
  /** Problems of an included file, as whole lines. They are reported last. */
  readonly addIncluded: (lines: readonly string[]) => void;
}

/** Parses a file and checks it. Throws a UserError with a line per problem, including the problems that `check` records. */
export function readDocument<T>(
  { text, shownPath }: DocumentText,
  check: (raw: unknown, problems: Problems) => T | undefined,
): T {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems = syntaxProblems(document, text);
  const addProblem: AddProblem = (path, message) => {
    const where = path.length === 0 ? '' : `${path.map(String).join('.')}: `;
    problems.push({ offset: offsetOf(document, path), message: where + message });
  };
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) === undefined) {
        problems.push({ offset: alias.range?.[0] ?? 0, message: `the alias *${alias.source} has no anchor` });
      }
    },
  });
  // A document with a duplicate key can be checked further; a document with another YAML error cannot.
  const isReadable =
    document.errors.every((error) => error.code === 'DUPLICATE_KEY') && problems.length === document.errors.length;
  const included: string[] = [];
  const addIncluded = (lines: readonly string[]) => void included.push(...lines);
  const checked = isReadable ? check(document.toJS() ?? {}, { add: addProblem, addIncluded }) : undefined;
  if (checked !== undefined && problems.length === 0 && included.length === 0) return checked;
  const located = problems
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => {
      const { line, col } = lines.linePos(offset);
      return `${shownPath}:${line}:${col}: ${message}`;
    });
  throw new UserError([...located, ...included]);
}

interface LocatedProblem {
  readonly offset: number;
  readonly message: string;
}

/**
 * Reports an unquoted variable within braces or brackets: YAML reads it as the start of a map, and misreads the rest without
 * an error.
 */
function syntaxProblems({ errors }: Document.Parsed, text: string): LocatedProblem[] {
  const found = errors.map(({ pos: [offset], code, message }) => ({
    offset,
    // The library's own message is for programmers.
    message:
      code === 'MULTIPLE_DOCS'
        ? 'expected one YAML document; remove the --- and what does not belong to the config'
        : message,
  }));
  const variables = found.flatMap(({ offset }) => {
    const variable = /^\$\{[^}\n]*\}/.exec(text.slice(offset - 1))?.[0];
    return variable === undefined ? [] : [{ offset: offset - 1, message: `quote it here: "${variable}"` }];
  });
  const [first] = variables;
  return first === undefined ? found : [...found.filter(({ offset }) => offset < first.offset), ...variables];
}

/** Records a problem that zod found, in the words of this program. */
export function addIssue(issue: z.core.$ZodIssue, addProblem: AddProblem): void {
  switch (issue.code) {
    case 'unrecognized_keys':
      for (const key of issue.keys) {
        const advice = isInteger(key) ? DECIMAL_POINT : 'config.example.yaml lists all keys';
        addProblem([...issue.path, key], `unknown key; ${advice}`);
      }
      return;
    case 'invalid_key':
      for (const inner of issue.issues) addProblem(issue.path, inner.message);
      return;
    default: {
      const advice = isInteger(issue.path.at(-1)) ? `; ${DECIMAL_POINT}` : '';
      addProblem(issue.path, expectationOf(issue) + advice);
    }
  }
}

function expectationOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type' || issue.message.startsWith('expected')) return issue.message;
  return `expected a ${describeType(issue.expected)}`;
}

/** Within braces, YAML reads `{ input: 0,15 }` as a price of 0 and a key 15. */
const DECIMAL_POINT = 'numbers take a decimal point, not a comma: 0.15';

/** Whether it is the name of a field. The index of a list is a number. */
function isInteger(key: PropertyKey | undefined): boolean {
  return typeof key === 'string' && /^\d+$/.test(key);
}

function describeType(expected: string): string {
  return expected === 'object' || expected === 'record' ? 'map' : expected;
}

/** The offset of the field at a path, or of its nearest parent in the file. */
function offsetOf(document: Document.Parsed, path: PropertyKey[]): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const key of path) {
    if (isSeq(node)) {
      node = node.items[Number(key)];
      offset = isNode(node) ? (node.range?.[0] ?? offset) : offset;
      continue;
    }
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isPair(item) && String(item.key) === String(key));
    if (pair === undefined) break;
    if (isNode(pair.key)) offset = pair.key.range?.[0] ?? offset;
    node = pair.value;
  }
  return offset;
}
