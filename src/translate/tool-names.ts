/** The names of tools at a host, where there are no namespaces and no custom tools. */

/** A tool as the client calls it. */
export interface ToolIdentity {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Hosts accept this many characters, of these kinds. */
const MAX_NAME_CHARACTERS = 64;
const FOREIGN_CHARACTER = /[^A-Za-z0-9_-]/g;

/** The most characters of a number that makes a name differ from the others. */
const MAX_ENDING_CHARACTERS = 8;

export class ToolNames {
  readonly #hostNames = new Map<string, string>();
  readonly #identities = new Map<string, ToolIdentity>();
  /** The next number for names that begin alike. */
  readonly #nextNumbers = new Map<string, number>();

  /** The name for a new tool. A name without a namespace stays as it is, for the host to judge. */
  add(identity: ToolIdentity): string {
    const plain = plainHostName(identity.name, identity.namespace);
    const name = identity.namespace !== undefined && this.#identities.has(plain) ? this.#numbered(plain) : plain;
    this.#hostNames.set(keyOf(identity.name, identity.namespace), name);
    this.#identities.set(name, identity);
    return name;
  }

  /** The name of a tool that was called, whether or not it is offered still. */
  hostName(name: string, namespace: string | undefined): string {
    return this.#hostNames.get(keyOf(name, namespace)) ?? plainHostName(name, namespace);
  }

  isOffered(hostName: string): boolean {
    return this.#identities.has(hostName);
  }

  /** The tool that the host has called. One that was not offered is a function. */
  identity(hostName: string): ToolIdentity {
    return this.#identities.get(hostName) ?? { kind: 'function', name: hostName, namespace: undefined };
  }

  /** A name that is free. No number is tried twice, however many names begin alike. */
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
