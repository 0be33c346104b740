/** A command that reports every fault of its words, where commander stops at the first. */
import {
  type Argument,
  Command,
  type ErrorOptions,
  type HelpContext,
  InvalidArgumentError,
  type Option,
} from 'commander';

/** Its types leave this out: it reports an option, and which one may be meant. */
const { unknownOption } = Command.prototype as unknown as { unknownOption(this: Command, option: string): void };

/** How an unknown option begins. A negative number is an argument. */
const OPTION = /^-(?!\d|$)/;

/** Commander's code for an option that the command line lacks. */
const MISSING = 'commander.missingMandatoryOptionValue';

export class ThoroughCommand extends Command {
  /** The faults of the whole command line. */
  readonly #faults: string[];
  /** Options that the command line lacks. An unknown option may be one of them misspelt, so these are named last. */
  readonly #missing: string[];
  /** What to use instead of options that users of other programs expect. */
  readonly #alternatives = new Map<string, string>();

  constructor(name?: string, faults: string[] = [], missing: string[] = []) {
    super(name);
    this.#faults = faults;
    this.#missing = missing;
    this.hook('preAction', () => this.refuse());
  }

  override createCommand(name?: string): ThoroughCommand {
    return new ThoroughCommand(name, this.#faults, this.#missing);
  }

  /** Has the error about any of these unknown options name an alternative. */
  pointTo(alternative: string, options: readonly string[]): this {
    for (const option of options) this.#alternatives.set(option, alternative);
    return this;
  }

  override addOption(option: Option): this {
    return super.addOption(this.#reading(option, `option '${option.flags}' argument`, ''));
  }

  override addArgument(argument: Argument): this {
    return super.addArgument(this.#reading(argument, 'value', ` for argument '${argument.name()}'`));
  }

  /** What is wrong with a value is kept, and the next one is read. */
  #reading<Kind extends Option | Argument>(word: Kind, what: string, place: string): Kind {
    const { parseArg: parse } = word;
    if (parse === undefined) return word;
    word.argParser((value: string | undefined, previous: unknown) => {
      // An option that ends the line has none, which has been said.
      if (value === undefined) return previous;
      try {
        return parse(value, previous);
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) throw error;
        this.#faults.push(`error: ${what} '${value}' is invalid${place}. ${error.message}`);
        return previous;
      }
    });
    return word;
  }

  /** Keeps the faults that commander finds, and lets it go on. A fault that an action finds ends the command. */
  override error(message: string, options?: ErrorOptions): never {
    (options?.code === MISSING ? this.#missing : this.#faults).push(message);
    if (options === undefined) this.refuse();
    return undefined as never;
  }

  /** In the place of a command that is missing. There may be faults before it. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context === 'object' && context.error) this.refuse();
    return super.help(context as HelpContext);
  }

  /** Reports all unknown options, where commander's method is called for the first. A word after one may be its value. */
  unknownOption(): void {
    const end = this.args.indexOf('--');
    const words = end < 0 ? this.args : this.args.slice(0, end);
    for (const word of words.filter((word) => OPTION.test(word))) {
      const name = word.replace(/=.*/s, '');
      const alternative = this.#alternatives.get(name);
      if (this.#knows(name)) this.#faults.push(`error: option '${name}' takes no value`);
      else if (alternative !== undefined) this.#faults.push(`error: unknown option '${name}'; ${alternative}`);
      else unknownOption.call(this, name);
    }
    this.refuse();
  }

  /** Whether there is such an option. To commander, one is unknown that takes no value and is given one. */
  #knows(name: string): boolean {
    const help = this.createHelp();
    return [...help.visibleOptions(this), ...help.visibleGlobalOptions(this)].some(({ long }) => long === name);
  }

  /** Ends with a usage error if there are faults: each gets a line. */
  refuse(faults: readonly string[] = [...this.#faults, ...this.#missing]): void {
    const last = faults.at(-1);
    if (last === undefined) return;
    const { outputError } = this.configureOutput();
    for (const fault of faults.slice(0, -1)) outputError?.(fault, () => {});
    super.error(last);
  }
}
