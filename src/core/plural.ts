/** Numbers with their nouns. */

/** `1 request`, `2 requests`. */
export function counted(number: number, noun: string, nouns = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : nouns}`;
}
