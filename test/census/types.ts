/** The types of the official libraries, as TypeScript's own checker sees them. */
import { fileURLToPath } from 'node:url';
import { API, type Checker, type Snapshot, SymbolFlags, type Type, type TypeReference } from 'typescript/unstable/sync';

/** A field of an object type. `*` stands for any name. */
export interface Field {
  readonly name: string;
  readonly type: Type;
  readonly isOptional: boolean;
}

/** What a value of a type can be. `text`: one string and no other. */
export interface Alternative {
  readonly kind: 'object' | 'text' | 'string' | 'number' | 'boolean' | 'unknown' | 'null';
  readonly type: Type;
  /** Of a `text`. */
  readonly value?: string;
  /** Whether it is the element of an array. */
  readonly inArray: boolean;
}

const SIMPLE = ['string', 'number', 'boolean', 'unknown', 'null'] as const;

/** Reads the program of `tsconfig.json` in a folder. The API is unstable: it may change with TypeScript's next version. */
export class Types {
  readonly #api = new API();
  readonly #snapshot: Snapshot;
  readonly #checker: Checker;
  readonly #folder: string;
  readonly #fields = new Map<number, readonly Field[]>();
  readonly #alternatives = new Map<number, readonly Alternative[]>();

  constructor(folder: URL) {
    this.#folder = fileURLToPath(folder);
    const project = `${this.#folder}tsconfig.json`;
    this.#snapshot = this.#api.updateSnapshot({ openProjects: [project] });
    this.#checker = present(this.#snapshot.getProject(project)).checker;
  }

  close(): void {
    this.#api.close();
  }

  /** The type that a file of the folder exports under a name. */
  exported(file: string, name: string): Type {
    const project = present(this.#snapshot.getProject(`${this.#folder}tsconfig.json`));
    const source = present(project.program.getSourceFile(this.#folder + file));
    const module = present(this.#checker.getSymbolAtLocation(source));
    const symbol = this.#checker.getExportsOfModule(module).find((each) => each.name === name);
    return this.#checker.getDeclaredTypeOfSymbol(present(symbol));
  }

  fieldsOf(type: Type): readonly Field[] {
    return remembered(this.#fields, type.id, () => {
      const symbols = this.#checker.getPropertiesOfType(type);
      const types = symbols.length === 0 ? [] : this.#checker.getTypeOfSymbol(symbols);
      const named = symbols.map(({ name, flags }, i) => ({
        name,
        type: present(types[i]),
        isOptional: (flags & SymbolFlags.Optional) !== 0,
      }));
      const others = this.#checker.getIndexInfosOfType(type);
      return [...named, ...others.map(({ valueType }) => ({ name: '*', type: valueType, isOptional: true }))];
    });
  }

  /** What a value can be: the members of unions, and the elements of arrays. */
  alternativesOf(type: Type): readonly Alternative[] {
    return remembered(this.#alternatives, type.id, () => {
      if (type.isUnionType()) return type.getTypes().flatMap((each) => this.alternativesOf(each));
      if (this.#checker.isArrayType(type) || this.#checker.isTupleType(type)) {
        return this.elementsOf(type)
          .flatMap((each) => this.alternativesOf(each))
          .map((each) => ({ ...each, inArray: true }));
      }
      return this.#simple(type);
    });
  }

  /** The types of the elements of an array or a tuple. */
  elementsOf(type: Type): readonly Type[] {
    return this.#checker.getTypeArguments(type as TypeReference);
  }

  #simple(type: Type): Alternative[] {
    if (type.isStringLiteralType()) return [{ kind: 'text', type, value: type.value, inArray: false }];
    if (type.isBooleanLiteralType()) return [{ kind: 'boolean', type, inArray: false }];
    if (type.isNumberLiteralType()) return [{ kind: 'number', type, inArray: false }];
    if (type.isIntrinsicType()) {
      const kind = SIMPLE.find((name) => name === type.intrinsicName);
      return kind === undefined ? [] : [{ kind, type, inArray: false }];
    }
    // `string & {}`: any string, beside those that are known.
    const isOpen = type.isIntersectionType() && type.getTypes().some((each) => each.isIntrinsicType());
    return [{ kind: isOpen ? 'string' : 'object', type, inArray: false }];
  }
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the types of the libraries cannot be read');
  return value;
}

function remembered<T>(map: Map<number, T>, id: number, make: () => T): T {
  const known = map.get(id);
  if (known !== undefined) return known;
  const made = make();
  map.set(id, made);
  return made;
}
