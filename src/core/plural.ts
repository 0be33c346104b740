/** Numbers with their nouns. */

/** `1 request`, `2 requests`. `shown`: how the number is written. */
export function counted(
  number: number,
  noun: string,
  nouns = `${noun}s`,
  shown: (number: number) => string = String,
): string {
  return `${shown(number)} ${number === 1 ? noun : nouns}`;
}
