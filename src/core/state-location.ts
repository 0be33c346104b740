/** The location of the state: a file of one gateway, or a database shared by several gateways. */
import { type PostgresAddress, showAddress } from './postgres-address.ts';

export type StateLocation =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'postgres'; readonly address: PostgresAddress };

/** The path, or the address without its password. */
export function showState(state: StateLocation): string {
  switch (state.kind) {
    case 'file':
      return state.path;
    case 'postgres':
      return showAddress(state.address);
  }
}
