/** Maps client tools to tool names on hosts, which have neither namespaces nor custom tools. */

/** A tool as known to the client. */
export interface ToolIdentity {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Length and characters of names that hosts accept. */
const MAX_NAME_CHARACTERS = 64;
const FOREIGN_CHARACTER = /[^A-Za-z0-9_-]/g;

/** Maximum length of a suffix that makes a name unique. */
const MAX_ENDING_CHARACTERS = 8;

export class ToolNames {
  readonly #hostNames = new Map<string, string>();
  readonly #identities = new Map<string, ToolIdentity>();
  /** Next suffix per truncated name. */
  readonly #nextNumbers = new Map<string, number>();

  /** Returns the host's name for a new tool. Names without a namespace are passed unchanged, and validated by the host. */
  add(identity: ToolIdentity): string {
    const plain = plainHostName(identity.name, identity.namespace);
    const name = identity.namespace !== undefined && this.#identities.has(plain) ? this.#numbered(plain) : plain;
    this.#hostNames.set(keyOf(identity.name, identity.namespace), name);
    this.#identities.set(name, identity);
    return name;
  }

  /** Returns the host's name for a called tool, which need not be offered any more. */
  hostName(name: string, namespace: string | undefined): string {
    return this.#hostNames.get(keyOf(name, namespace)) ?? plainHostName(name, namespace);
  }

  isOffered(hostName: string): boolean {
    return this.#identities.has(hostName);
  }

  /** Returns the tool for a host's name. An unknown name is treated as a function. */
  identity(hostName: string): ToolIdentity {
    return this.#identities.get(hostName) ?? { kind: 'function', name: hostName, namespace: undefined };
  }

  /** Returns an unused name. Suffixes only increase, so the search is linear in the number of tools. */
  #numbered(plain: string): string {
    const stem = plain.slice(0, MAX_NAME_CHARACTERS - MAX_ENDING_CHARACTERS);
    let number = this.#nextNumbers.get(stem) ?? 2;
    while (this.#identities.has(`${stem}_${number}`)) number++;
    this.#nextNumbers.set(stem, number + 1);
    return `${stem}_${number}`;
  }
}

function plainHostName(name: string, namespace: string | undefined): string {
  if (namespace === undefined) return name;
  return `${namespace}__${name}`.replace(FOREIGN_CHARACTER, '_').slice(0, MAX_NAME_CHARACTERS);
}

function keyOf(name: string, namespace: string | undefined): string {
  return JSON.stringify([namespace ?? null, name]);
}
