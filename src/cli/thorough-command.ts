/** A command that reports all faults of its words. Commander stops at the first. */
import {
  type Argument,
  Command,
  type ErrorOptions,
  type HelpContext,
  InvalidArgumentError,
  type Option,
} from 'commander';
import { nearestWord } from '../core/likeness.ts';

/** The start of an unknown option. A negative number is an argument. */
const OPTION = /^-(?!\d|$)/;

/** Commander's codes for a missing option, and for the first unknown one. */
const MISSING = 'commander.missingMandatoryOptionValue';
const UNKNOWN = 'commander.unknownOption';

export class ThoroughCommand extends Command {
  /** The faults of the whole command line. */
  readonly #faults: string[];
  /** Missing options. They are reported last, since an unknown option may be one of them, misspelt. */
  readonly #missing: string[];
  /** Alternatives to options that users know from other programs. */
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

  /** Adds an alternative to the errors about unknown options. */
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

  /** Collects the fault of a value, and continues with the next one. */
  #reading<Kind extends Option | Argument>(word: Kind, what: string, place: string): Kind {
    const { parseArg: parse } = word;
    if (parse === undefined) return word;
    word.argParser((value: string | undefined, previous: unknown) => {
      // An option at the end of the line lacks its value, which is reported already.
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

  /** Collects the faults that commander finds, and continues. A fault that an action finds ends the command. */
  override error(message: string, options?: ErrorOptions): never {
    if (options?.code === UNKNOWN) this.#refuseUnknown();
    (options?.code === MISSING ? this.#missing : this.#faults).push(message);
    if (options === undefined) this.refuse();
    return undefined as never;
  }

  /** Reports a missing subcommand, after the faults before it. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context === 'object' && context.error) this.refuse();
    return super.help(context as HelpContext);
  }

  /** Reports all unknown options. A word after an unknown option may be its value. */
  #refuseUnknown(): void {
    const help = this.createHelp();
    const options = [...help.visibleOptions(this), ...help.visibleGlobalOptions(this)];
    const known = options.flatMap(({ long }) => long ?? []);
    const end = this.args.indexOf('--');
    const words = end < 0 ? this.args : this.args.slice(0, end);
    for (const word of words.filter((word) => OPTION.test(word))) {
      const name = word.replace(/=.*/s, '');
      const alternative = this.#alternatives.get(name);
      const meant = name.startsWith('--') ? nearestWord(name, known) : undefined;
      // Commander also calls an option unknown if it takes no value and is given one.
      if (known.includes(name)) this.#faults.push(`error: option '${name}' takes no value`);
      else if (alternative !== undefined) this.#faults.push(`error: unknown option '${name}'; ${alternative}`);
      else
        this.#faults.push(`error: unknown option '${name}'${meant === undefined ? '' : ` (Did you mean ${meant}?)`}`);
    }
    this.refuse();
  }

  /** Ends with a usage error if there are faults, each on a line of its own. */
  refuse(faults: readonly string[] = [...this.#faults, ...this.#missing]): void {
    const last = faults.at(-1);
    if (last === undefined) return;
    const { outputError } = this.configureOutput();
    for (const fault of faults.slice(0, -1)) outputError?.(fault, () => {});
    super.error(last);
  }
}
