/** Formats numbers with their nouns. */

/** Formats `1 request`, `2 requests`. `shown` formats the number. */
export function counted(
  number: number,
  noun: string,
  nouns = `${noun}s`,
  shown: (number: number) => string = String,
): string {
  return `${shown(number)} ${number === 1 ? noun : nouns}`;
}
