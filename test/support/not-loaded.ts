/** A file of the program that cannot be loaded for a while, as where the process has no descriptor left. */
import { type ModuleHooks, registerHooks } from 'node:module';

/** `specifier`: as it is imported. Lasts until `deregister`. */
export function whileNotLoaded(specifier: string): ModuleHooks {
  return registerHooks({
    resolve(asked, context, next) {
      if (asked === specifier) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
      return next(asked, context);
    },
  });
}
