/** A flag of V8, which tells compiled code by the flags that it was made under. */
import { setFlagsFromString } from 'node:v8';

/** Whether V8 allocates the objects of a line of code in the old generation once most of those that it saw have outlived a collection. */
export function allowPretenuring(isAllowed: boolean): void {
  setFlagsFromString(`--${isAllowed ? '' : 'no-'}allocation-site-pretenuring`);
}
