/** What a fake host knows of requests: a field that a vendor's host would refuse is found here, too. */

/** What a message holds; `true` for anything, an array for a list. */
export type Schema = true | readonly [Schema] | { readonly [field: string]: Schema };

/** The path of the first field that a schema does not have. */
export function unknownField(value: unknown, schema: Schema, at = ''): string | undefined {
  if (schema === true) return undefined;
  if (Array.isArray(schema)) {
    const each = Array.isArray(value) ? value : [value];
    return each
      .map((item, index) => unknownField(item, schema[0], `${at}[${index}]`))
      .find((path) => path !== undefined);
  }
  const known = schema as { readonly [field: string]: Schema };
  return Object.entries(value as object)
    .map(([name, member]) => {
      const path = at === '' ? name : `${at}.${name}`;
      const expected = Object.hasOwn(known, name) ? known[name] : undefined;
      return expected === undefined ? path : unknownField(member, expected, path);
    })
    .find((path) => path !== undefined);
}
